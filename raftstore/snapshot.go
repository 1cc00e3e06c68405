package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// snapshot is a backup of a state as it was when the snapshot was taken, whose tables are links to
// those of the state. It must not have later commands: a cluster that is made of a snapshot goes on
// from the index that raft knows, and would take its next commands for some that the state has.
type snapshot struct {
	dir string
	key []byte // of the state; nil for none
}

// Snapshot implements [raft.FSM]. It waits until what is in memory is in tables, and then for
// links, not for copies. The state is synced, since raft may remove the entries that a snapshot
// has.
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	m.applying.Lock()
	defer m.applying.Unlock()
	if m.failed != nil {
		return nil, fmt.Errorf("the state machine has failed: %w", m.failed)
	}
	db := m.state.Load()
	m.snapshots++
	s := &snapshot{snapshotDir(m.dir, m.snapshots), m.opts.Key}
	err := db.Sync()
	if err == nil {
		err = db.BackupLinked(context.Background(), s.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take a snapshot of %s: %w", m.dir, err), os.RemoveAll(s.dir))
	}
	return s, nil
}

// Persist implements [raft.FSMSnapshot].
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.writeTo(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (s *snapshot) writeTo(w io.Writer) (err error) {
	db, err := stoat.Open(s.dir, &stoat.Options{ReadOnly: true, Key: s.key})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.BackupTo(context.Background(), w)
}

// Release implements [raft.FSMSnapshot].
func (s *snapshot) Release() { _ = os.RemoveAll(s.dir) } // or the next OpenMachine does

// Restore implements [raft.FSM]: it makes the state that of a snapshot. After an error or a crash,
// the state is the one before. Transactions that have begun go on in that; they keep its disk space
// until they end.
func (m *Machine) Restore(stream io.ReadCloser) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	before := m.state.Load()
	if err := m.receive(stream, before.number+1); err != nil {
		return fmt.Errorf("restore a snapshot to %s: %w", m.dir, err)
	}
	if err := m.use(before.number + 1); err != nil {
		err = errors.Join(err, remove(m.dir, before.number+1))
		return fmt.Errorf("restore a snapshot to %s: %w", m.dir, err)
	}
	m.failed = nil
	_ = before.Close()               // what it cannot write any more is not needed
	_ = remove(m.dir, before.number) // or the next OpenMachine does
	return nil
}

// receive makes a database of a stream, which counts from the moment that it has its name.
func (m *Machine) receive(stream io.ReadCloser, number uint64) error {
	if err := discard(m.dir); err != nil {
		return err
	}
	err := stoat.RestoreWithKey(context.Background(), stream, incoming(m.dir), m.opts.Key,
		m.opts.Key)
	if err = errors.Join(err, stream.Close()); err != nil {
		return errors.Join(err, discard(m.dir))
	}
	return publish(m.dir, number)
}

// Holds reports whether the state has everything that the newest snapshot has, so that raft need
// not restore it: set raft.Config.NoSnapshotRestoreOnStart to the result. It may say no where
// raft's last entries before the snapshot were no commands.
func (m *Machine) Holds(snapshots raft.SnapshotStore) (bool, error) {
	all, err := snapshots.List()
	if err != nil || len(all) == 0 {
		return err == nil, err
	}
	index, err := m.Applied()
	return err == nil && index >= all[0].Index, err
}
