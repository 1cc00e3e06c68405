package stoat_test

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/stoatdb/stoat"
)

// reads is one call of every method of a key space that reads.
var reads = map[string]func(s stoat.KeySpace) error{
	"Get":      func(s stoat.KeySpace) error { _, err := s.Get([]byte("a")); return err },
	"Has":      func(s stoat.KeySpace) error { _, err := s.Has([]byte("a")); return err },
	"TTL":      func(s stoat.KeySpace) error { _, _, err := s.TTL([]byte("a")); return err },
	"Bucket":   func(s stoat.KeySpace) error { _, err := s.Bucket([]byte("a")); return err },
	"Sequence": func(s stoat.KeySpace) error { _, err := s.Sequence(); return err },
	"First":    func(s stoat.KeySpace) error { c := s.Cursor(); c.First(); return c.Err() },
	"Last":     func(s stoat.KeySpace) error { c := s.Cursor(); c.Last(); return c.Err() },
	"Seek":     func(s stoat.KeySpace) error { c := s.Cursor(); c.Seek(nil); return c.Err() },
	"Next":     func(s stoat.KeySpace) error { c := s.Cursor(); c.Next(); return c.Err() },
	"Prev":     func(s stoat.KeySpace) error { c := s.Cursor(); c.Prev(); return c.Err() },
}

// writes is one call of every method of a key space that writes.
var writes = map[string]func(s stoat.KeySpace) error{
	"Put":    func(s stoat.KeySpace) error { return s.Put([]byte("a"), nil) },
	"Delete": func(s stoat.KeySpace) error { return s.Delete([]byte("a")) },
	"CompareAndSwap": func(s stoat.KeySpace) error {
		_, err := s.CompareAndSwap([]byte("a"), nil, nil)
		return err
	},
	"CompareAndDelete": func(s stoat.KeySpace) error {
		_, err := s.CompareAndDelete([]byte("a"), []byte("x"))
		return err
	},
	"CreateBucket": func(s stoat.KeySpace) error { _, err := s.CreateBucket([]byte("a")); return err },
	"CreateBucketIfNotExists": func(s stoat.KeySpace) error {
		_, err := s.CreateBucketIfNotExists([]byte("a"))
		return err
	},
	"DeleteBucket": func(s stoat.KeySpace) error { return s.DeleteBucket([]byte("a")) },
	"NextSequence": func(s stoat.KeySpace) error { _, err := s.NextSequence(); return err },
	"SetSequence":  func(s stoat.KeySpace) error { return s.SetSequence(1) },
}

// loops is one loop of every kind, which must not run.
var loops = map[string]func(t *testing.T, s stoat.KeySpace){
	"Scan": func(t *testing.T, s stoat.KeySpace) {
		for k := range s.Scan(stoat.Range{}) {
			t.Errorf("key %q", k)
		}
	},
	"Scan of nothing": func(t *testing.T, s stoat.KeySpace) {
		for k := range s.Scan(stoat.Range{Start: []byte("b"), End: []byte("a")}) {
			t.Errorf("key %q", k)
		}
	},
	"Keys": func(t *testing.T, s stoat.KeySpace) {
		equalKeys(t, keysOf(s.Keys(stoat.Range{})), nil)
	},
	"Buckets": func(t *testing.T, s stoat.KeySpace) { equalKeys(t, keysOf(s.Buckets()), nil) },
}

// withBucket returns a database whose root and bucket "b" have the key "a".
func withBucket(t *testing.T) *stoat.DB {
	t.Helper()
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a")
		put(t, create(t, tx, "b"), "a")
	})
	return db
}

func TestTx_finishedTransactionReturnsErrTxClosed(t *testing.T) {
	ends := map[string]func(tx *stoat.Tx) error{
		"Commit":   (*stoat.Tx).Commit,
		"Rollback": (*stoat.Tx).Rollback,
	}
	for name, end := range ends {
		for _, writable := range []bool{false, true} {
			tx := begin(t, withBucket(t), writable)
			spaces := []stoat.KeySpace{tx, bucket(t, tx, "b")}
			c := tx.Cursor()
			c.First()
			ok(t, end(tx))
			for _, s := range spaces {
				for call, read := range reads {
					t.Run(name+"/"+call, func(t *testing.T) { wantErr(t, read(s), stoat.ErrTxClosed) })
				}
				for call, write := range writes {
					t.Run(name+"/"+call, func(t *testing.T) { wantErr(t, write(s), stoat.ErrTxClosed) })
				}
			}
			k, v := c.Next()
			equal(t, k == nil && v == nil, true)
			wantErr(t, c.Err(), stoat.ErrTxClosed)
			wantErr(t, tx.Commit(), stoat.ErrTxClosed)
			ok(t, tx.Rollback())
		}
	}
}

func TestTx_loopOverFinishedTransactionIsKeptInErr(t *testing.T) {
	for name, loop := range loops {
		t.Run(name, func(t *testing.T) {
			tx := begin(t, withBucket(t), false)
			b := bucket(t, tx, "b")
			ok(t, tx.Rollback())
			ok(t, tx.Err())
			loop(t, b)
			wantErr(t, tx.Err(), stoat.ErrTxClosed)
		})
	}
}

func TestTx_loopStopsWhenItsBodyEndsTheTransaction(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	tx := begin(t, db, true)
	var seen []string
	for k := range tx.Keys(stoat.Range{}) {
		seen = append(seen, string(k))
		ok(t, tx.Rollback())
	}
	equalKeys(t, seen, []string{"a"})
	wantErr(t, tx.Err(), stoat.ErrTxClosed)
}

func TestTx_handlesOfAViewDoNotReachTheNext(t *testing.T) {
	db := withBucket(t)
	var tx *stoat.Tx
	var b *stoat.Bucket
	var cursors []*stoat.Cursor
	var loop func(yield func([]byte) bool)
	view(t, db, func(first *stoat.Tx) {
		tx, b, loop = first, bucket(t, first, "b"), first.Keys(stoat.Range{})
		cursors = []*stoat.Cursor{first.Cursor(), first.Cursor()}
		cursors[0].First()
	})
	wantErr(t, reads["Get"](tx), stoat.ErrTxClosed)
	for range 10 { // so that one of them is likely to be given the same session
		view(t, db, func(later *stoat.Tx) {
			for _, s := range []stoat.KeySpace{tx, b} {
				for call, read := range reads {
					if err := read(s); !errors.Is(err, stoat.ErrTxClosed) {
						t.Errorf("%s: %v", call, err)
					}
				}
				for call, write := range writes {
					if err := write(s); !errors.Is(err, stoat.ErrTxClosed) {
						t.Errorf("%s: %v", call, err)
					}
				}
				for _, loop := range loops {
					loop(t, s)
				}
			}
			for _, c := range cursors {
				c.First()
				wantErr(t, c.Err(), stoat.ErrTxClosed)
			}
			equalKeys(t, keysOf(loop), nil)
			wantErr(t, tx.BeforeCommit(func() error { return nil }), stoat.ErrTxClosed)
			wantErr(t, tx.Commit(), stoat.ErrTxClosed)
			wantErr(t, tx.Err(), stoat.ErrTxClosed)
			ok(t, tx.Rollback())
			equal(t, tx.Position(), 0)
			equal(t, tx.Refer(bucket(t, later, "b").Ref()) == nil, true)
			equal(t, b.Ref(), stoat.Ref{})
			kept := stoat.Local(later, "key", func() int { return 1 })
			equal(t, stoat.Local(tx, "key", func() int { return 2 }), kept+1)
			ok(t, later.Err())
			wantKeys(t, later, "a")
		})
	}
}

// TestTx_keptFromManyViewsIsClosedInAll keeps more of them than are made at a time.
func TestTx_keptFromManyViewsIsClosedInAll(t *testing.T) {
	db := withBucket(t)
	var kept []*stoat.Tx
	for range 300 {
		view(t, db, func(tx *stoat.Tx) {
			for _, k := range kept {
				if err := reads["Get"](k); !errors.Is(err, stoat.ErrTxClosed) {
					t.Fatalf("a transaction kept from one of %d Views: %v", len(kept), err)
				}
			}
			kept = append(kept, tx)
		})
	}
}

// TestTx_afterCloseReturnsErrClosedFromEachCall leaves a writable transaction open.
func TestTx_afterCloseReturnsErrClosedFromEachCall(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "b"), "a", "c") })
	reader, tx := begin(t, db, false), begin(t, db, true)
	spaces := []stoat.KeySpace{tx, bucket(t, tx, "b")}
	put(t, tx, "a", "b", "c")
	c := tx.Cursor()
	c.First()
	var seen int
	for range tx.Keys(stoat.Range{}) {
		seen++
		ok(t, db.Close())
	}
	equal(t, seen, 1)
	wantErr(t, tx.Err(), stoat.ErrClosed)
	for _, s := range spaces {
		for call, read := range reads {
			t.Run(call, func(t *testing.T) { wantErr(t, read(s), stoat.ErrClosed) })
		}
		for call, write := range writes {
			t.Run(call, func(t *testing.T) { wantErr(t, write(s), stoat.ErrClosed) })
		}
		for name, loop := range loops {
			t.Run(name, func(t *testing.T) { loop(t, s) })
		}
	}
	c.Next()
	wantErr(t, c.Err(), stoat.ErrClosed)
	wantErr(t, tx.BeforeCommit(func() error { return nil }), stoat.ErrClosed)
	wantErr(t, tx.Commit(), stoat.ErrClosed)
	wantErr(t, reads["Get"](tx), stoat.ErrTxClosed)
	wantKeys(t, bucket(t, reader, "b"), "a", "c")
}

func TestTx_readOnlyTransactionReturnsErrReadOnly(t *testing.T) {
	view(t, withBucket(t), func(tx *stoat.Tx) {
		equal(t, tx.Writable(), false)
		for name, write := range writes {
			t.Run(name, func(t *testing.T) {
				wantErr(t, write(tx), stoat.ErrReadOnly)
				wantErr(t, write(bucket(t, tx, "b")), stoat.ErrReadOnly)
			})
		}
		put := tx.Put(nil, nil)
		wantErr(t, put, stoat.ErrReadOnly)
		equal(t, put.Error(), "write in an Update: transaction or database is read-only")
		wantKeys(t, tx, "a")
	})
}

func TestTx_seesItsWritesAndNobodyElseDoes(t *testing.T) {
	db := withBucket(t)
	before := begin(t, db, false)
	tx := begin(t, db, true)
	equal(t, tx.Writable(), true)
	put(t, tx, "c")
	ok(t, tx.Delete([]byte("a")))
	put(t, bucket(t, tx, "b"), "c")
	wantKeys(t, tx, "c")
	wantKeys(t, bucket(t, tx, "b"), "a", "c")
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
	ok(t, tx.Commit())
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "c") })
	wantKeys(t, before, "a")
	wantKeys(t, bucket(t, before, "b"), "a")
}

func TestTx_rollbackDiscardsEverything(t *testing.T) {
	db := withBucket(t)
	tx := begin(t, db, true)
	put(t, tx, "c")
	put(t, create(t, tx, "new"), "c")
	ok(t, tx.DeleteBucket([]byte("b")))
	_, err := tx.NextSequence()
	ok(t, err)
	ok(t, tx.Rollback())
	view(t, db, func(tx *stoat.Tx) {
		wantKeys(t, tx, "a")
		wantKeys(t, bucket(t, tx, "b"), "a")
		equalKeys(t, keysOf(tx.Buckets()), []string{"b"})
		n, err := tx.Sequence()
		ok(t, err)
		equal(t, n, 0)
	})
}

func TestTx_commitOfAReadOnlyTransactionEndsIt(t *testing.T) {
	tx := begin(t, withBucket(t), false)
	ok(t, tx.Commit())
	wantErr(t, reads["Get"](tx), stoat.ErrTxClosed)
	equal(t, tx.Writable(), false)
}

func TestTx_errorOfALoopFailsTheCommit(t *testing.T) {
	db := withBucket(t)
	tx := begin(t, db, true)
	b := bucket(t, tx, "b")
	put(t, tx, "c")
	ok(t, tx.DeleteBucket([]byte("b")))
	equalKeys(t, keysOf(b.Keys(stoat.Range{})), nil)
	wantErr(t, tx.Err(), stoat.ErrBucketNotFound)
	wantErr(t, tx.Commit(), stoat.ErrBucketNotFound)
	wantErr(t, reads["Get"](tx), stoat.ErrTxClosed)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
}

// TestTx_keepsNoDatabaseAliveOnceEnded holds on to everything that came from a database, but for
// the database itself.
func TestTx_keepsNoDatabaseAliveOnceEnded(t *testing.T) {
	var stale []*stoat.Tx
	var refs []stoat.Ref
	db := func() weak.Pointer[stoat.DB] {
		db, err := stoat.OpenMemory(nil)
		ok(t, err)
		writable, err := db.Begin(true)
		ok(t, err)
		put(t, create(t, writable, "bucket"), "a")
		ok(t, writable.Commit())
		view(t, db, func(tx *stoat.Tx) {
			wantKeys(t, bucket(t, tx, "bucket"), "a")
			refs = append(refs, bucket(t, tx, "bucket").Ref())
			stale = append(stale, tx)
		})
		stale = append(stale, writable)
		ok(t, db.Close())
		return weak.Make(db)
	}()
	for n := 0; db.Value() != nil && n < 1000; n++ {
		runtime.GC()
		runtime.Gosched()
	}
	if db.Value() != nil {
		t.Errorf("the database stays in memory with %d transactions that ended", len(stale))
	}
	runtime.KeepAlive(stale)
	runtime.KeepAlive(refs)
}
