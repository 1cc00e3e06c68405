package stoat_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// waits is one call of everything that waits for its turn among those that write.
var waits = map[string]func(ctx context.Context, db *stoat.DB) error{
	"UpdateContext": func(ctx context.Context, db *stoat.DB) error {
		return db.UpdateContext(ctx, func(*stoat.Tx) error { return errTest })
	},
	"BeginContext": func(ctx context.Context, db *stoat.DB) error {
		_, err := db.BeginContext(ctx, true)
		return err
	},
	"Load": func(ctx context.Context, db *stoat.DB) error {
		return db.Load(ctx, func(func(key, value []byte) bool) {})
	},
	"Compact":  func(ctx context.Context, db *stoat.DB) error { return db.Compact(ctx) },
	"BackupTo": func(ctx context.Context, db *stoat.DB) error { return db.BackupTo(ctx, io.Discard) },
}

// nested is one call of everything that would wait for ever within an Update.
var nested = map[string]func(db *stoat.DB) error{
	"Update": func(db *stoat.DB) error { return db.Update(func(*stoat.Tx) error { return errTest }) },
	"Begin":  func(db *stoat.DB) error { _, err := db.Begin(true); return err },
	"Put":    func(db *stoat.DB) error { return db.Put([]byte("a"), nil) },
	"PutTTL": func(db *stoat.DB) error { return db.PutTTL([]byte("a"), nil, time.Hour) },
	"Delete": func(db *stoat.DB) error { return db.Delete([]byte("a")) },
	"Flush":  (*stoat.DB).Flush,
	"in a View": func(db *stoat.DB) error {
		return db.View(func(*stoat.Tx) error { return db.Put([]byte("a"), nil) })
	},
}

func TestUpdate_nestedInItselfIsAnError(t *testing.T) {
	calls := maps.Clone(nested)
	for name, wait := range waits {
		calls[name] = func(db *stoat.DB) error { return wait(context.Background(), db) }
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, other := memory(t), memory(t)
				update(t, db, func(tx *stoat.Tx) {
					wantErr(t, call(db), stoat.ErrDeadlock)
					ok(t, db.View(func(*stoat.Tx) error { return nil }))
					update(t, other, func(*stoat.Tx) { wantErr(t, call(db), stoat.ErrDeadlock) })
					put(t, tx, "a")
				})
				update(t, db, func(tx *stoat.Tx) {
					ok(t, tx.BeforeCommit(func() error {
						wantErr(t, call(db), stoat.ErrDeadlock)
						return nil
					}))
				})
				view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
			})
		})
	}
}

func TestUpdate_nestedIsFoundWhileOthersUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, other := memory(t), memory(t)
		update(t, db, func(*stoat.Tx) {
			go func() {
				_ = other.Update(func(*stoat.Tx) error { <-time.After(time.Minute); return nil })
			}()
			synctest.Wait()
			start := time.Now()
			wantErr(t, db.Put([]byte("a"), nil), stoat.ErrDeadlock)
			if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
				t.Errorf("it is found after %v", waited)
			}
		})
	})
}

// TestUpdate_nestedIsFoundSoonAlthoughOthersWaitToo has others wait shortly before.
func TestUpdate_nestedIsFoundSoonAlthoughOthersWaitToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory(t)
		update(t, db, func(*stoat.Tx) {
			for range 3 {
				go func() { ok(t, db.Put([]byte("b"), []byte("v-b"))) }()
				<-time.After(7 * time.Millisecond)
			}
			start := time.Now()
			wantErr(t, db.Put([]byte("a"), nil), stoat.ErrDeadlock)
			equal(t, time.Since(start), 10*time.Millisecond)
		})
		synctest.Wait()
		view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "b") })
	})
}

// TestUpdate_waitsForWhatEnds wants waits that may end not to be taken for deadlocks.
func TestUpdate_waitsForWhatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, other := memory(t), memory(t)
		tx, err := db.Begin(true) // by this goroutine, and ended by another one
		ok(t, err)
		go func() { <-time.After(time.Hour); _ = tx.Commit() }()
		ok(t, db.Put([]byte("a"), nil))
		update(t, other, func(*stoat.Tx) { // another database
			go func() {
				_ = db.Update(func(*stoat.Tx) error { <-time.After(time.Hour); return nil })
			}()
			synctest.Wait()
			ok(t, db.Put([]byte("b"), nil))
		})
		wantErr(t, db.Update(func(tx *stoat.Tx) error { // one that is rolled back before
			ok(t, tx.Rollback())
			go func() {
				_ = db.Update(func(*stoat.Tx) error { <-time.After(time.Hour); return nil })
			}()
			synctest.Wait()
			return db.Put([]byte("c"), nil)
		}), stoat.ErrTxClosed)
		has, err := db.Get([]byte("c"))
		ok(t, err)
		equal(t, len(has), 0)
	})
}

func TestUpdate_concurrentUpdatesOfManyDatabasesAreNoDeadlock(t *testing.T) {
	dbs := []*stoat.DB{memory(t), memory(t), memory(t)}
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			for i := range 20 {
				outer := dbs[min(n, i)%2] // always in one order
				err := outer.Update(func(*stoat.Tx) error {
					if i%10 == 0 {
						<-time.After(15 * time.Millisecond) // longer than who waits waits to look
					}
					return dbs[2].Put([]byte{byte(n)}, nil)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestContext_endsTheWaitForOthers(t *testing.T) {
	gone := errors.New("the client is gone")
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openOn(t, memfs.New(), nil)
				ok(t, db.Put([]byte("a"), []byte("v-a")))
				tx, err := db.Begin(true)
				ok(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err = wait(ctx, db)
				wantErr(t, err, context.DeadlineExceeded)
				if strings.Contains(name, "Context") {
					equal(t, err.Error(), "waited 3s for the writer lock, which a writable transaction "+
						"has held all the time: context deadline exceeded")
				}
				canceled, stop := context.WithCancelCause(t.Context())
				stop(gone)
				wantErr(t, wait(canceled, db), gone)
				ok(t, tx.Rollback())
				wantErr(t, wait(canceled, db), gone)
				view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
				ok(t, db.Close())
			})
		})
	}
}

func TestUpdateContext_errorIsOfContext(t *testing.T) {
	db := memory(t)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	err := db.UpdateContext(ctx, func(*stoat.Tx) error { t.Error("it runs"); return nil })
	wantErr(t, err, context.Canceled)
	wantErr(t, err, gone)
	_, err = db.BeginContext(ctx, false)
	wantErr(t, err, context.Canceled)
	ok(t, db.UpdateContext(t.Context(), func(tx *stoat.Tx) error { put(t, tx, "a"); return nil }))
	tx, err := db.BeginContext(t.Context(), false)
	ok(t, err)
	wantKeys(t, tx, "a")
	ok(t, tx.Rollback())
}

// TestContext_endsTheWaitForRoom keeps flushes from coming to an end.
func TestContext_endsTheWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Bool
		stuck.Store(true)
		files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
			if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
				for stuck.Load() {
					<-time.After(time.Second)
				}
			}
			return nil
		})
		db, err := tuned.Open(files, "db", nil, engine.Tuning{
			MemtableBytes: 1 << 10, SpillBytes: 1 << 20,
		})
		ok(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for err == nil {
			err = db.UpdateContext(ctx, func(tx *stoat.Tx) error {
				return tx.Put([]byte("a"), make([]byte, 2000))
			})
		}
		wantErr(t, err, context.DeadlineExceeded)
		if !strings.Contains(err.Error(), "waited for flushes") {
			t.Error(err)
		}
		stuck.Store(false)
		ok(t, db.Put([]byte("a"), nil))
		ok(t, db.Close())
	})
}
