package stoat_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Whoever takes the next key out of a queue must not pass all those that were taken before. What is
// passed are entries, so these tests count how many are left in memory.

const (
	queued = 3_000
	// fewEntries is how many tombstones may be left of a queue, however many were taken out.
	fewEntries = 20
)

func queueKey(i int) string { return fmt.Sprintf("%08d", i) }

// enqueue puts the keys from first to end into a bucket.
func enqueue(t *testing.T, db *stoat.DB, name string, first, end int) {
	t.Helper()
	update(t, db, func(tx *stoat.Tx) {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		ok(t, err)
		for i := first; i < end; i++ {
			ok(t, b.Put([]byte(queueKey(i)), []byte("task")))
		}
	})
}

// next is the ways to find the key to take out of a queue: from the front, or from the end.
var next = map[string]struct {
	find func(b *stoat.Bucket) []byte
	last bool
}{
	"Scan with a limit": {find: func(b *stoat.Bucket) (first []byte) {
		for key := range b.Scan(stoat.Range{Limit: 1}) {
			first = key
		}
		return first
	}},
	"Keys with a break": {find: func(b *stoat.Bucket) (first []byte) {
		for first = range b.Keys(stoat.Range{}) {
			break
		}
		return first
	}},
	"Scan of a prefix": {find: func(b *stoat.Bucket) (first []byte) {
		for first = range b.Scan(stoat.Prefix([]byte("0"))) {
			break
		}
		return first
	}},
	"Cursor.First": {find: func(b *stoat.Bucket) []byte {
		key, _ := b.Cursor().First()
		return key
	}},
	"Cursor.Seek": {find: func(b *stoat.Bucket) []byte {
		key, _ := b.Cursor().Seek([]byte("0"))
		return key
	}},
	"Cursor.Last": {last: true, find: func(b *stoat.Bucket) []byte {
		key, _ := b.Cursor().Last()
		return key
	}},
	"Scan in reverse": {last: true, find: func(b *stoat.Bucket) (last []byte) {
		for last = range b.Scan(stoat.Range{Reverse: true}) {
			break
		}
		return last
	}},
}

// circumstances is where the queue lies. Each returns the database with the queue "q" in it.
var circumstances = map[string]func(t *testing.T) *stoat.DB{
	"in memory": func(t *testing.T) *stoat.DB {
		db := quiet(t)
		enqueue(t, db, "q", 0, queued)
		return db
	},
	"in tables": func(t *testing.T) *stoat.DB {
		db := quiet(t)
		enqueue(t, db, "q", 0, queued)
		ok(t, db.Flush())
		return db
	},
	"among the keys of one table": func(t *testing.T) *stoat.DB {
		db := quiet(t)
		enqueue(t, db, "before", 0, 1)
		enqueue(t, db, "q", 0, 1)
		enqueue(t, db, "z", 0, 1)
		ok(t, db.Flush())
		enqueue(t, db, "q", 0, queued)
		return db
	},
	"in memory and in tables": func(t *testing.T) *stoat.DB {
		db := quiet(t)
		enqueue(t, db, "q", 0, queued/2)
		ok(t, db.Flush())
		enqueue(t, db, "q", queued/2, queued)
		return db
	},
	"under an old snapshot": func(t *testing.T) *stoat.DB {
		db := quiet(t)
		enqueue(t, db, "q", 0, queued)
		tx := begin(t, db, false)
		t.Cleanup(func() {
			n := 0
			for range bucket(t, tx, "q").Keys(stoat.Range{}) {
				n++
			}
			equal(t, n, queued)
			ok(t, tx.Rollback())
		})
		return db
	},
}

// quiet returns a database in memory that flushes and compactions nothing by itself.
func quiet(t *testing.T) *stoat.DB {
	t.Helper()
	db, err := tuned.OpenMemory(nil, engine.Tuning{IdleAfter: time.Hour, RestAfter: time.Hour})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// wantFew checks that besides the tables' entries hardly more than the given ones are in memory.
func wantFew(t *testing.T, db *stoat.DB, live int) {
	t.Helper()
	s := db.Stats()
	if s.Entries > uint64(live+fewEntries) {
		t.Fatalf("%d entries, want about %d", s.Entries, live)
	}
}

func TestQueue_leavesFewTombstonesToPass(t *testing.T) {
	for place, open := range circumstances {
		for way, next := range next {
			t.Run(place+"/"+way, func(t *testing.T) {
				db := open(t)
				entries := int(db.Stats().Entries)
				for i := range queued {
					want := queueKey(i)
					if next.last {
						want = queueKey(queued - 1 - i)
					}
					update(t, db, func(tx *stoat.Tx) {
						b := bucket(t, tx, "q")
						key := next.find(b)
						equal(t, string(key), want)
						ok(t, b.Delete(key))
					})
					wantFew(t, db, entries)
				}
				view(t, db, func(tx *stoat.Tx) { wantKeys(t, bucket(t, tx, "q")) })
			})
		}
	}
}

func TestQueue_leavesNothingOfWhatNeverLeftMemory(t *testing.T) {
	db := quiet(t)
	for i := range queued {
		enqueue(t, db, "q", i, i+1)
		update(t, db, func(tx *stoat.Tx) {
			ok(t, bucket(t, tx, "q").Delete([]byte(queueKey(i))))
		})
		wantFew(t, db, 0)
	}
}

func TestQueue_isDrainedByOneTransaction(t *testing.T) {
	for place, open := range circumstances {
		t.Run(place, func(t *testing.T) {
			db := open(t)
			entries := int(db.Stats().Entries)
			update(t, db, func(tx *stoat.Tx) {
				b := bucket(t, tx, "q")
				c := b.Cursor()
				n := 0
				for key, _ := c.First(); key != nil; key, _ = c.First() {
					equal(t, string(key), queueKey(n))
					ok(t, b.Delete(key))
					n++
				}
				equal(t, n, queued)
			})
			wantFew(t, db, entries)
		})
	}
}

// What a loop has passed may be there by its end, because its body has written it.
func TestQueue_keepsWhatIsPutWhereALoopHasPassed(t *testing.T) {
	db := quiet(t)
	enqueue(t, db, "q", 0, 200)
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		b := bucket(t, tx, "q")
		for i := 50; i < 150; i++ {
			ok(t, b.Delete([]byte(queueKey(i))))
		}
		for range b.Keys(stoat.Range{}) {
			ok(t, b.Put([]byte(queueKey(100)), nil))
		}
		c := b.Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			ok(t, b.Put([]byte(queueKey(101)), nil))
		}
	})
	view(t, db, func(tx *stoat.Tx) {
		b := bucket(t, tx, "q")
		equal(t, len(keysOf(b.Keys(stoat.Range{}))), 102)
		for _, i := range []int{100, 101} {
			has, err := b.Has([]byte(queueKey(i)))
			ok(t, err)
			equal(t, has, true)
		}
	})
}

// Readers look for the next key, and writers delete it without looking.
func TestQueue_isPassedOnceByReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := tuned.Open(memfs.New(), "db", &stoat.Options{Sync: stoat.SyncNever},
			engine.Tuning{IdleAfter: time.Hour, RestAfter: time.Hour})
		ok(t, err)
		defer db.Close()
		enqueue(t, db, "q", 0, queued)
		ok(t, db.Flush())
		entries := db.Stats().Entries
		for i := range queued {
			view(t, db, func(tx *stoat.Tx) {
				key, _ := bucket(t, tx, "q").Cursor().First()
				equal(t, string(key), queueKey(i))
			})
			synctest.Wait() // for the background job
			update(t, db, func(tx *stoat.Tx) {
				ok(t, bucket(t, tx, "q").Delete([]byte(queueKey(i))))
			})
			if n := db.Stats().Entries - entries; n > 4*fewEntries {
				t.Fatalf("%d tombstones are left of %d", n, i+1)
			}
		}
	})
}

func TestQueue_passesWhatHasExpiredOnce(t *testing.T) {
	for _, flush := range []bool{false, true} {
		clock := model.NewClock()
		db, err := tuned.OpenMemory(nil, engine.Tuning{
			IdleAfter: time.Hour, RestAfter: time.Hour, Now: clock.Now,
		})
		ok(t, err)
		update(t, db, func(tx *stoat.Tx) {
			for i := range queued {
				ok(t, tx.PutTTL([]byte(queueKey(i)), nil, time.Duration(i+1)*time.Millisecond))
			}
		})
		if flush {
			ok(t, db.Flush())
		}
		for i := range queued {
			update(t, db, func(tx *stoat.Tx) {
				key, _ := tx.Cursor().First()
				equal(t, string(key), queueKey(i))
				ok(t, tx.Put([]byte("other"), nil))
			})
			clock.Advance(time.Millisecond)
			live := queued - i
			if flush {
				live = queued
			}
			wantFew(t, db, live)
		}
		ok(t, db.Close())
	}
}
