package remote_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// late is a database with the bucket "inner" within "outer", whose files come to the store late,
// and a reader that has its first tables.
type late struct {
	t      *testing.T
	client *faultstore.Client
	down   atomic.Bool // the store takes no files
	db     *remote.DB
	reader *remote.Reader
}

func newLate(t *testing.T) *late {
	t.Helper()
	l := &late{t: t}
	l.client = faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Put && strings.HasPrefix(r.Name, "data/") && l.down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	lazy := engine.Tuning{IdleAfter: time.Hour, YoungRuns: 100} // compacts only when it is told to
	var err error
	l.db, err = open(t, l.client, memfs.New(), quick(), lazy)
	ok(t, err)
	t.Cleanup(func() { _ = l.db.Close() }) // it is fenced
	l.update(func(tx *stoat.Tx) error {
		outer, err := tx.CreateBucket([]byte("outer"))
		ok(t, err)
		inner, err := outer.CreateBucket([]byte("inner"))
		ok(t, err)
		return inner.Put([]byte("key"), []byte("value"))
	})
	ok(t, l.db.Flush())
	ok(t, l.db.Ship(t.Context()))
	l.reader = readSmall(t, l.client)
	t.Cleanup(func() { ok(t, l.reader.Close()) })
	l.await(func() bool { return l.tables() > 0 })
	l.down.Store(true)
	return l
}

// readSmall opens a reader that begins a memtable after each large value.
func readSmall(t *testing.T, store objstore.Store) *remote.Reader {
	t.Helper()
	o := impatient()
	defer hook.Attach(&o, hook.Settings{Tuning: engine.Tuning{MemtableBytes: largeBytes}})()
	r, err := remote.OpenReader(t.Context(), store, "", &o)
	ok(t, err)
	return r
}

// largeBytes is the size of a large value, which does not fit into a memtable of the reader beside
// others.
const largeBytes = 64 << 10

func (l *late) update(fn func(tx *stoat.Tx) error) {
	l.t.Helper()
	ok(l.t, l.db.Update(fn))
}

func (l *late) await(is func() bool) {
	for !is() {
		runtime.Gosched()
	}
}

// tables returns how many tables the reader has.
func (l *late) tables() (n int) {
	s := l.reader.Shape()
	for _, r := range append(s.Young, s.Bottom) {
		n += len(r.Tables)
	}
	return n
}

// first returns the first table of the bottom run that the reader has.
func (l *late) first() uint64 { return l.reader.Shape().Bottom.Tables[0].Number }

// arrive has one more commit follow the reader's, and then the tables arrive.
func (l *late) arrive(arrived func() bool) {
	l.t.Helper()
	ok(l.t, l.db.Put([]byte("later"), nil))
	ok(l.t, l.db.Ship(l.t.Context()))
	ok(l.t, l.reader.WaitFor(l.t.Context(), l.db.Position()))
	l.down.Store(false)
	l.await(arrived)
}

// wantSound wants a database that has taken over to be sound, here and in the store.
func (l *late) wantSound(db *remote.DB) {
	l.t.Helper()
	ok(l.t, db.Check(l.t.Context()))
	ok(l.t, db.Compact(l.t.Context()))
	ok(l.t, db.Check(l.t.Context()))
	ok(l.t, db.Ship(l.t.Context()))
	ok(l.t, restored(l.t, l.client).Check(l.t.Context()))
}

// TestTakeOver_whereTablesHaveForgottenABucket has a reader keep the commits that write to a bucket
// and drop it, while tables without a trace of it arrive.
func TestTakeOver_whereTablesHaveForgottenABucket(t *testing.T) {
	l := newLate(t)
	l.update(func(tx *stoat.Tx) error {
		outer, err := tx.Bucket([]byte("outer"))
		ok(t, err)
		inner, err := outer.Bucket([]byte("inner"))
		ok(t, err)
		_, err = inner.NextSequence()
		return errors.Join(err, inner.Put([]byte("key"), nil))
	})
	l.update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("outer")) })
	ok(t, l.db.Ship(t.Context()))
	ok(t, l.db.Compact(t.Context()))
	before := l.first()
	l.arrive(func() bool { return l.first() != before })
	ok(t, l.reader.Check(t.Context()))
	ok(t, l.reader.CheckQuick(t.Context()))
	l.wantSound(mustTakeOver(t, l.reader, memfs.New()))
}

// TestTakeOver_dropsABucketOfSeveralMemtables has a reader begin a memtable between the commits
// that make a bucket, write to it and drop it, while there is no table.
func TestTakeOver_dropsABucketOfSeveralMemtables(t *testing.T) {
	l := &late{t: t}
	l.client = faultstore.NewServer(memstore.New()).Client(nil)
	l.db = mustOpen(t, l.client, memfs.New())
	for range 3 {
		l.update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("bucket"))
			ok(t, err)
			ok(t, tx.Put([]byte("large"), make([]byte, largeBytes)))
			return b.Put([]byte("key"), nil)
		})
	}
	l.update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("bucket")) })
	ok(t, l.db.Ship(t.Context()))
	l.reader = readSmall(t, l.client)
	l.wantSound(mustTakeOver(t, l.reader, memfs.New()))
}

// TestTakeOver_keepsABucketThatWasMovedOutOfADroppedOne has tables arrive in which a dropped bucket
// still contains one that was moved, as nobody looks into it.
func TestTakeOver_keepsABucketThatWasMovedOutOfADroppedOne(t *testing.T) {
	l := newLate(t)
	l.update(func(tx *stoat.Tx) error {
		outer, err := tx.Bucket([]byte("outer"))
		ok(t, err)
		ok(t, tx.Put([]byte("large"), make([]byte, largeBytes)))
		return outer.MoveBucket([]byte("inner"), tx, []byte("moved"))
	})
	l.update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("outer")) })
	ok(t, l.db.Ship(t.Context()))
	ok(t, l.db.Flush())
	before := l.tables()
	l.arrive(func() bool { return l.tables() != before })
	ok(t, l.reader.Check(t.Context()))
	db := mustTakeOver(t, l.reader, memfs.New())
	l.wantSound(db)
	ok(t, db.View(func(tx *stoat.Tx) error {
		moved, err := tx.Bucket([]byte("moved"))
		ok(t, err)
		_, err = moved.Get([]byte("key"))
		return err
	}))
}
