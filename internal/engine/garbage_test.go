package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// doomed and kept are buckets: of the former nothing is to be left.
const doomed, kept = 7, 9

func bucketKey(bucket uint64, i int) []byte {
	return fmt.Appendf(keyspace.AppendPrefix(nil, bucket), "%06d", i)
}

// catalogKeyOf returns the key of the entry of a bucket in the root bucket.
func catalogKeyOf(bucket uint64) []byte {
	return fmt.Append(keyspace.AppendCatalog(nil, keyspace.RootID), bucket)
}

// fillBuckets commits so many values in both buckets, which do not compress.
func fillBuckets(t testing.TB, e *Engine, values int) {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	random := rand.NewChaCha8([32]byte{})
	value := make([]byte, largeBytes)
	for _, bucket := range []uint64{doomed, kept} {
		ok(t, w.Put(catalogKeyOf(bucket), []byte{byte(bucket)}, 0))
		for i := range values {
			_, _ = random.Read(value) // which always succeeds
			ok(t, w.Put(bucketKey(bucket, i), value, 0))
		}
	}
	ok(t, w.Commit())
}

// deletesAtOnce is the ways to delete all of the doomed bucket at once.
var deletesAtOnce = map[string]func(w *Writer) error{
	"a bucket": func(w *Writer) error {
		if err := w.Delete(catalogKeyOf(doomed)); err != nil {
			return err
		}
		return w.Put(keyspace.AppendDropped(nil, doomed), nil, 0)
	},
	"a range": func(w *Writer) error {
		lower := keyspace.AppendPrefix(nil, doomed)
		return w.DeleteRange(keyspace.Span{Start: lower, End: keyspace.Successor(lower)})
	},
}

// eachDeletion runs fn, in a bubble, for each way to delete, with values in tables and outside.
func eachDeletion(t *testing.T, fn func(t *testing.T, e *Engine, drop func())) {
	for name, deletion := range deletesAtOnce {
		for _, threshold := range []int{-1, 1000} {
			t.Run(fmt.Sprint(name, " with values from ", threshold), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := mustOpen(t, memfs.New(), Options{
						ValueThreshold: threshold,
						Tuning:         Tuning{TableBytes: 256 << 10, Garbage: 64 << 10},
					})
					fn(t, e, func() {
						w, err := e.Begin()
						ok(t, err)
						ok(t, deletion(w))
						ok(t, w.Commit())
					})
					ok(t, e.Close())
				})
			})
		}
	}
}

// space is what tables and value files take.
func space(e *Engine) uint64 {
	s := e.Stats()
	return s.TableBytes + s.ValueFileBytes
}

func TestGarbage_ofWhatIsDeletedAtOnceGoesByItself(t *testing.T) {
	const values = 300
	eachDeletion(t, func(t *testing.T, e *Engine, drop func()) {
		fillBuckets(t, e, values)
		ok(t, e.Flush())
		<-time.After(time.Minute)
		before := space(e)
		if s := e.Stats(); before < 2*values*largeBytes || s.PendingBytes > before/10 {
			t.Fatalf("%d bytes, and %d pending, before anything is deleted", before, s.PendingBytes)
		}
		drop()
		if pending := e.Stats().PendingBytes; pending < before/5 || pending > before*4/5 {
			t.Errorf("%d bytes are pending of %d", pending, before)
		}
		<-time.After(10 * defaultRestAfter)
		if now := space(e); now > before*6/10 {
			t.Errorf("%d bytes are left of %d", now, before)
		}
		if s := e.Stats(); s.PendingBytes > before/10 || s.DroppedRuns != 0 {
			t.Errorf("%d bytes are still pending, and %d ranges of buckets", s.PendingBytes,
				s.DroppedRuns)
		}
	})
}

func TestGarbage_goesWhileCommitsTrickleIn(t *testing.T) {
	const values = 300
	eachDeletion(t, func(t *testing.T, e *Engine, drop func()) {
		fillBuckets(t, e, values)
		ok(t, e.Flush())
		<-time.After(time.Minute)
		before := space(e)
		drop()
		const every = defaultIdleAfter * 5 / 3
		for i := range 4 * restWaits * defaultRestAfter / (3 * every) {
			mustCommit(t, e, fmt.Sprint("word ", int64(i)))
			<-time.After(every)
		}
		if now := space(e); now > before*6/10 {
			t.Errorf("%d bytes are left of %d", now, before)
		}
	})
}

// What was never in tables by itself is no reason to write tables.
func TestGarbage_thatIsInMemoryOnlyCanStay(t *testing.T) {
	eachDeletion(t, func(t *testing.T, e *Engine, drop func()) {
		fillBuckets(t, e, 20)
		drop()
		<-time.After(time.Hour)
		if s := e.Stats(); s.Flushes != 0 || s.PendingBytes != 0 {
			t.Errorf("%d flushes, and %d bytes are pending", s.Flushes, s.PendingBytes)
		}
	})
}

// A snapshot keeps what it sees, and nothing on the disk for others.
func TestGarbage_goesUnderASnapshot(t *testing.T) {
	const values = 300
	eachDeletion(t, func(t *testing.T, e *Engine, drop func()) {
		fillBuckets(t, e, values)
		ok(t, e.Flush())
		<-time.After(time.Minute)
		before := space(e)
		old, err := e.Snapshot(0)
		ok(t, err)
		drop()
		<-time.After(10 * defaultRestAfter)
		if now := space(e); now > before*6/10 {
			t.Errorf("%d bytes are left of %d", now, before)
		}
		for i := range values {
			_, found, err := old.Get(bucketKey(doomed, i), new(superversion.Lookups))
			if !found || err != nil {
				t.Fatalf("the snapshot has value %d: %v, %v", i, found, err)
			}
		}
	})
}

func TestGarbage_thatCouldNotBeRemovedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		files, stuck := failing(disk, errBroken, is(faultfs.Remove, tableSuffix))
		e := mustOpen(t, files, calm())
		mustCommit(t, e, "a")
		ok(t, e.Flush())
		mustCommit(t, e, "a", "b")
		ok(t, e.Flush())
		stuck.Store(true)
		ok(t, e.Compact(t.Context()))
		tables := len(named(t, disk, tableSuffix))
		<-time.After(3 * restWaits * defaultRestAfter)
		if n := len(named(t, disk, tableSuffix)); n != tables || n == e.Stats().Tables {
			t.Errorf("%d tables are there, after %d", n, tables)
		}
		stuck.Store(false)
		<-time.After(2 * restWaits * defaultRestAfter)
		if n := len(named(t, disk, tableSuffix)); n != e.Stats().Tables {
			t.Errorf("%d tables are there, %d are needed", n, e.Stats().Tables)
		}
		ok(t, e.Close())
	})
}

// A little that is to be cut out of large tables waits, so that these are not written all the time.
func TestGarbage_thatIsLittleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), Options{ValueThreshold: -1})
		fillBuckets(t, e, 500)
		ok(t, e.Flush())
		<-time.After(time.Minute)
		before := e.Stats()
		w, err := e.Begin()
		ok(t, err)
		ok(t, w.DeleteRange(keyspace.Span{
			Start: bucketKey(doomed, 100), End: bucketKey(doomed, 140),
		}))
		ok(t, w.Commit())
		<-time.After(restWaits / 2 * defaultRestAfter)
		if s := e.Stats(); s.Flushes != before.Flushes || s.PendingBytes < 100_000 {
			t.Errorf("%d flushes, %d bytes are pending", s.Flushes-before.Flushes, s.PendingBytes)
		}
		<-time.After(restWaits * defaultRestAfter)
		s := e.Stats()
		if s.Flushes == before.Flushes || s.PendingBytes > 10_000 ||
			s.TableBytes+30*largeBytes > before.TableBytes {
			t.Errorf("%d bytes are left of %d, and %d are pending", s.TableBytes, before.TableBytes,
				s.PendingBytes)
		}
		ok(t, e.Close())
	})
}
