package engine

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Replica is an engine that shows a database which others write: its owner applies their commits,
// and the versions of their tables. It has no log, no manifest and no jobs, writes no file, and
// refuses transactions that write. Otherwise it is an engine. Its own methods are for one
// goroutine; readers may run meanwhile, and see states of the database in their order.
type Replica struct {
	*Engine
	memory replayed // what readers see of it is in the engine's state
}

// OpenReplica returns a replica of a database without any commit. Its files are those in folder.
func OpenReplica(folder vfs.Folder, dir string, database [16]byte, o Options) *Replica {
	o.ReadOnly, o.Volatile = true, true
	o = o.withDefaults()
	s := recovered{store: newStore(directory{folder, dir}, database, o)}
	s.levels = s.levelsOf(&manifest.Version{NextNumber: 1})
	e := newEngine(o, s)
	e.commits.Follow(commit.Log{}) // for good: the newest commits are kept, since there is no log
	return &Replica{e, newReplayed(0)}
}

// SetBranch sets the branch of the commits that follow, and those that have ended before, the
// oldest first.
func (r *Replica) SetBranch(branch uint64, ended []Ended) {
	r.lineage.Store(&lineage{branch, ended})
}

// Apply makes the next commit visible. After an error nothing has changed, and the payload is
// damaged.
func (r *Replica) Apply(number uint64, payload []byte) error {
	if next := r.Visible() + 1; number != next {
		return fmt.Errorf("commit %d is to be applied, want %d", number, next)
	}
	changes, err := changesBuckets(commit.NewBatch(number, payload))
	if err == nil {
		err = r.memory.add(number, payload)
	}
	if err != nil {
		return fmt.Errorf("commit %d: %w", number, err)
	}
	if changes {
		r.buckets.Store(number)
	}
	r.commits.Adopt(number, r.memory.root, payload)
	if r.memory.mem.Bytes() >= r.options.Tuning.MemtableBytes {
		r.memory.seal()
		r.publish(func(*superversion.Superversion) {})
	}
	r.Engine.memory.setActive(r.memory.bytes())
	return nil
}

// changesBuckets reports whether a commit may create, drop or move a bucket.
func changesBuckets(b commit.Batch) (changes bool, err error) {
	err = b.Each(func(key []byte, _ keyspace.Entry) error {
		changes = changes || len(key) > 0 && key[0] == byte(keyspace.SpaceCatalog)
		return nil
	})
	return changes, err
}

// Install makes version the files of the database, with all commits up to its last one. Readers of
// earlier states still need the files that it does not name.
func (r *Replica) Install(version *manifest.Version) {
	last := r.state.Load().Levels.Version.LastCommit
	if version.LastCommit > last && r.memory.last > version.LastCommit {
		r.memory.seal() // so that a later version, which has all of it, can drop it
	}
	r.memory.drop(version.LastCommit)
	r.show(version, max(r.Visible(), version.LastCommit))
}

// Reset makes the replica show version with the commits above it, which are given to apply in their
// order, in the place of what it shows. That must not be newer. After an error nothing has changed.
func (r *Replica) Reset(
	version *manifest.Version,
	commits func(apply func(commit uint64, payload []byte) error) error,
) error {
	next := newReplayed(version.LastCommit)
	err := commits(func(commit uint64, payload []byte) error {
		if commit != next.last+1 {
			return fmt.Errorf("commit %d follows commit %d", commit, next.last)
		}
		err := next.add(commit, payload)
		if next.mem.Bytes() >= r.options.Tuning.MemtableBytes {
			next.seal()
		}
		return err
	})
	if err == nil && next.last < r.Visible() {
		err = fmt.Errorf("the newest commit is %d, and readers see commit %d", next.last, r.Visible())
	}
	if err != nil {
		return err
	}
	r.memory = next
	r.show(version, next.last)
	return nil
}

// show makes a version with what is in memory visible, as of a commit.
func (r *Replica) show(version *manifest.Version, commit uint64) {
	old := r.state.Load()
	if commit > old.Commit {
		r.buckets.Store(commit) // what came between is unknown
	}
	levels := superversion.NewLevels(version, old.Levels, r.opener())
	r.publish(func(next *superversion.Superversion) {
		next.Levels, next.Commit = levels, commit
	})
	if commit > old.Commit {
		r.commits.Skip(commit)
	}
	r.Engine.memory.setActive(r.memory.bytes())
	kept := version.TableNumbers()
	old.Levels.Each(func(h superversion.Handle) {
		if !kept[h.Meta.Number] {
			h.Table.Forget()
		}
	})
}

// publish makes what is in memory, and what change does, visible.
func (r *Replica) publish(change func(next *superversion.Superversion)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publishLocked(func(next *superversion.Superversion) {
		next.Mem, next.Sealed = r.memory.root, r.memory.sealed()
		change(next)
	})
}

// replayed is commits that are not in tables, in memtables. Since a version may come that has the
// first half of a memtable, deletions always leave tombstones: then the rest counts above it as all
// of it does above what was there before. Not safe for concurrent use.
type replayed struct {
	mem  *memtable.Memtable
	root memtable.Root // of mem
	last uint64        // the newest commit, or that of the version if there is none
	full []filled      // earlier memtables, the oldest first
}

// filled is a memtable that takes no more commits.
type filled struct {
	root  memtable.Root
	last  uint64 // its newest commit
	bytes int64
}

func newReplayed(after uint64) replayed { return replayed{mem: newMemtable(), last: after} }

func (m *replayed) add(commit uint64, payload []byte) error {
	root, err := applyCommit(m.mem, nil, []wal.Payload{{Bytes: payload}})
	if err == nil {
		m.root, m.last = root, commit
	}
	return err
}

// seal begins a new memtable, unless the current one is empty.
func (m *replayed) seal() {
	if !m.root.Empty() {
		m.full = append(m.full, filled{m.root, m.last, m.mem.Bytes()})
		m.mem, m.root = newMemtable(), memtable.Root{}
	}
}

// drop removes the memtables that have no commit above the given one.
func (m *replayed) drop(through uint64) {
	if m.last <= through {
		*m = newReplayed(through)
	}
	for len(m.full) > 0 && m.full[0].last <= through {
		m.full = m.full[1:]
	}
}

// sealed returns the trees of the earlier memtables, the newest first.
func (m *replayed) sealed() []memtable.Root {
	roots := make([]memtable.Root, 0, len(m.full))
	for i := len(m.full) - 1; i >= 0; i-- {
		roots = append(roots, m.full[i].root)
	}
	return roots
}

func (m *replayed) bytes() int64 {
	bytes := m.mem.Bytes()
	for _, f := range m.full {
		bytes += f.bytes
	}
	return bytes
}
