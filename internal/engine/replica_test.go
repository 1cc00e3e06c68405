package engine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// origin is a database that a replica shows, and what it held after each commit.
type origin struct {
	*Engine
	t        testing.TB
	rng      *rand.Rand
	disk     *memfs.FS
	follower *commit.Follower
	words    []map[string]bool   // after each commit
	payloads [][]byte            // of each commit
	versions []*manifest.Version // that there were, the oldest first
}

func newOrigin(t testing.TB, seed uint64) *origin {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	o := &origin{
		t: t, rng: rand.New(rand.NewPCG(seed, 9)), disk: memfs.New(),
		words: []map[string]bool{{}}, payloads: [][]byte{nil},
	}
	o.Engine = mustOpen(t, o.disk, calm())
	var err error
	o.follower, err = o.Follow()
	ok(t, err)
	t.Cleanup(o.follower.Close)
	o.pinVersion()
	return o
}

// pinVersion notes the newest version, whose files stay from now on.
func (o *origin) pinVersion() {
	held := o.Hold()
	o.t.Cleanup(held.Release)
	o.versions = append(o.versions, held.Version)
}

// commit makes a transaction that puts and deletes words, one by one or as a range.
func (o *origin) commit() {
	o.t.Helper()
	next := maps.Clone(o.words[len(o.words)-1])
	w, err := o.Begin()
	ok(o.t, err)
	for range 1 + o.rng.IntN(4) {
		word := fmt.Sprintf("%02d", o.rng.IntN(30))
		switch o.rng.IntN(8) {
		case 0, 1, 2:
			delete(next, word)
			ok(o.t, w.Delete(dataKey("%s", word)))
		case 3:
			end := fmt.Sprintf("%02d", o.rng.IntN(30))
			if word >= end {
				continue
			}
			maps.DeleteFunc(next, func(w string, _ bool) bool { return word <= w && w < end })
			ok(o.t, w.DeleteRange(keyspace.Span{Start: dataKey("%s", word), End: dataKey("%s", end)}))
		default:
			next[word] = true
			ok(o.t, w.Put(dataKey("%s", word), []byte(word), 0))
		}
	}
	delete(next, fmt.Sprint("commit ", len(o.words)-1))
	count := fmt.Sprint("commit ", len(o.words))
	ok(o.t, w.Put(dataKey("%s", "count"), []byte(count), 0))
	next[count] = true
	ok(o.t, w.Commit())
	o.words = append(o.words, next)
	newest := uint64(len(o.words) - 1)
	ok(o.t, o.follower.Through(o.t.Context(), newest-1, newest, func(b commit.Batch) error {
		o.payloads = append(o.payloads, append([]byte(nil), b.Bytes()...))
		return nil
	}))
}

// replica returns a replica of the database, which reads its folder.
func (o *origin) replica(memtableBytes int64) *Replica {
	o.t.Helper()
	folder, err := o.disk.OpenFolder("db")
	ok(o.t, err)
	options := calm()
	options.Tuning.MemtableBytes = memtableBytes
	r := OpenReplica(folder, "db", o.Database(), options)
	o.t.Cleanup(func() { ok(o.t, r.Close()) })
	return r
}

// check wants the replica to show what the database held after a commit.
func (o *origin) check(r *Replica, commit uint64) {
	o.t.Helper()
	if r.Visible() != commit {
		o.t.Fatalf("commit %d is visible, want %d", r.Visible(), commit)
	}
	want := o.words[commit]
	for _, word := range wordsOf(o.t, r.Engine) {
		if !want[word] {
			o.t.Fatalf("after commit %d, %q is there", commit, word)
		}
		want[word] = false
	}
	for word, missing := range want {
		if missing {
			o.t.Fatalf("after commit %d, %q is missing", commit, word)
		}
		want[word] = true
	}
}

func TestReplica_showsEachCommit(t *testing.T) {
	for _, memtableBytes := range []int64{0, 1, 3000} {
		o := newOrigin(t, rand.Uint64())
		r := o.replica(memtableBytes)
		installed := 0
		for range 150 {
			for range o.rng.IntN(4) {
				o.commit()
			}
			if o.rng.IntN(6) == 0 {
				ok(t, o.Flush())
				o.pinVersion()
			}
			if o.rng.IntN(15) == 0 {
				ok(t, o.Compact(t.Context()))
				o.pinVersion()
			}
			newest := uint64(len(o.words) - 1)
			switch o.rng.IntN(12) {
			case 0: // files that may have some of its commits, all of them, or more
				installed += o.rng.IntN(len(o.versions) - installed)
				version := o.versions[installed]
				want := max(r.Visible(), version.LastCommit)
				r.Install(version)
				o.check(r, want)
			case 1:
				installed = max(installed, o.rng.IntN(len(o.versions)))
				version := o.versions[installed]
				from, through := version.LastCommit, max(r.Visible(), version.LastCommit)
				through += o.rng.Uint64N(newest - through + 1)
				ok(t, r.Reset(version, func(apply func(uint64, []byte) error) error {
					for c := from + 1; c <= through; c++ {
						if err := apply(c, o.payloads[c]); err != nil {
							return err
						}
					}
					return nil
				}))
				o.check(r, through)
			}
			for r.Visible() < newest && o.rng.IntN(5) > 0 {
				next := r.Visible() + 1
				ok(t, r.Apply(next, o.payloads[next]))
				o.check(r, next)
			}
		}
	}
}

func TestReplica_refusesWhatDoesNotFollow(t *testing.T) {
	o := newOrigin(t, 1)
	for range 3 {
		o.commit()
	}
	r := o.replica(0)
	ok(t, r.Apply(1, o.payloads[1]))
	if err := r.Apply(3, o.payloads[3]); err == nil {
		t.Error("a commit is left out")
	}
	if err := r.Apply(2, []byte{0xff}); !errors.Is(err, corrupt.Err) {
		t.Errorf("a damaged commit: %v", err)
	}
	o.check(r, 1)
	ok(t, r.Apply(2, o.payloads[2]))
	none := func(func(uint64, []byte) error) error { return nil }
	if err := r.Reset(o.versions[0], none); err == nil {
		t.Error("a replica goes back")
	}
	o.check(r, 2)
	if _, err := r.Begin(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a transaction that writes: %v", err)
	}
}

func TestReplica_knowsPositionsOfEarlierBranches(t *testing.T) {
	o := newOrigin(t, 1)
	for range 3 {
		o.commit()
	}
	r := o.replica(0)
	r.SetBranch(7, []Ended{{5, 1}, {6, 2}, {5, 2}})
	for c := range uint64(3) {
		ok(t, r.Apply(c+1, o.payloads[c+1]))
	}
	for _, c := range []struct {
		branch, commit uint64
		want           Standing
	}{
		{7, 3, Visible}, {7, 4, Ahead}, {6, 2, Visible}, {6, 3, Lost}, {5, 2, Visible}, {5, 3, Lost},
		{8, 1, Unknown},
	} {
		if got := r.Standing(PositionOf(c.branch, c.commit)); got != c.want {
			t.Errorf("commit %d of branch %d is %d, want %d", c.commit, c.branch, got, c.want)
		}
	}
	r.SetBranch(9, []Ended{{7, 5}})
	if got := r.Standing(PositionOf(7, 5)); got != Ahead {
		t.Errorf("a commit of an earlier branch that is not visible is %d", got)
	}
}

func TestReplica_noticesWhenBucketsChange(t *testing.T) {
	o := newOrigin(t, 1)
	w, err := o.Begin()
	ok(t, err)
	ok(t, w.Put(append(keyspace.AppendCatalog(nil, 0), "bucket"...), []byte("x"), 0))
	ok(t, w.Commit())
	var payload []byte
	ok(t, o.follower.Through(t.Context(), 0, 1, func(b commit.Batch) error {
		payload = append(payload, b.Bytes()...)
		return nil
	}))
	r := o.replica(0)
	ok(t, r.Apply(1, payload))
	if got := r.BucketsChanged(); got != 1 {
		t.Errorf("buckets changed at %d", got)
	}
	ok(t, o.Flush())
	version := *o.Hold().Version
	version.LastCommit = 5
	r.Install(&version)
	if got := r.BucketsChanged(); got != 5 {
		t.Errorf("after commits that nobody has seen, buckets changed at %d", got)
	}
}
