package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestWatch_tellsCommitsInOrder(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		f := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		ok(t, db.Put([]byte("b"), []byte("1")))
		ok(t, db.Put([]byte("a"), nil))
		f.wants(t, "b=1. a=.")
		update(t, db, func(tx *stoat.Tx) {
			create(t, tx, "bucket") // tells the root nothing
			ok(t, tx.Put([]byte("c"), []byte("2")))
			ok(t, tx.Put([]byte("c"), []byte("3")))
			ok(t, tx.Delete([]byte("b")))
		})
		ok(t, db.Delete([]byte("absent")))
		f.wants(t, "b=1. a=. c=2 c=3 -b. -absent.")
		equal(t, f.last, db.Position())
		f.stop(t)
		equal(t, f.at, db.Position())
	})
}

func TestWatch_goesOnWhereATransactionHasRead(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		empty := db.Position()
		f := follow(db, "", stoat.Range{}, empty) // keeps the history
		synctest.Wait()
		ok(t, db.Put([]byte("a"), []byte("1")))
		var from stoat.Position
		view(t, db, func(tx *stoat.Tx) { from = tx.Position() })
		equal(t, from, db.Position())
		update(t, db, func(tx *stoat.Tx) {
			put(t, tx, "b")
			equal(t, tx.Position(), from)
		})
		f.wants(t, "a=1. b=v-b.")
		g := follow(db, "", stoat.Range{}, from)
		g.wants(t, "b=v-b.")
		g.stop(t)
		f.stop(t)
	})
}

func TestWatch_readsTheLogWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOn(t, memfs.New(), &stoat.Options{ValueThreshold: 64})
		start := db.Position()
		long := strings.Repeat("x", 100)
		for _, key := range []string{"a", "b", "c"} {
			ok(t, db.Put([]byte(key), []byte(long)))
		}
		want := fmt.Sprintf("a=%s. b=%[1]s. c=%[1]s.", long)
		f := follow(db, "", stoat.Range{}, start)
		f.wants(t, want)
		ok(t, db.Put([]byte("d"), nil))
		f.wants(t, want+" d=.")
		f.stop(t)
		ok(t, db.Close())
	})
}

func TestWatch_clipsToTheRange(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		all := follow(db, "", stoat.Range{}, 0)
		some := follow(db, "", stoat.Range{Start: []byte("c"), End: []byte("f")}, 0)
		upper := follow(db, "", stoat.Range{Start: []byte("c")}, 0)
		lower := follow(db, "", stoat.Range{End: []byte("c")}, 0)
		none := follow(db, "", stoat.Range{Start: []byte("c"), End: []byte("c")}, 0)
		synctest.Wait()
		for _, bounds := range [][2]string{{"", ""}, {"d", "e"}, {"a", "d"}, {"e", ""}, {"", "c"}} {
			update(t, db, func(tx *stoat.Tx) {
				r := stoat.Range{Start: []byte(bounds[0]), End: []byte(bounds[1])}
				ok(t, tx.DeleteRange(r))
			})
		}
		putAll(t, db, "b", "c", "f")
		all.wants(t, "-*:*. -d:e. -a:d. -e:*. -*:c. b=v-b. c=v-c. f=v-f.")
		some.wants(t, "-c:f. -d:e. -c:d. -e:f. c=v-c.")
		upper.wants(t, "-c:*. -d:e. -c:d. -e:*. c=v-c. f=v-f.")
		lower.wants(t, "-*:c. -a:c. -*:c. b=v-b.")
		none.wants(t, "")
		for _, f := range []*follower{all, some, upper, lower, none} {
			f.stop(t)
		}
	})
}

func TestWatch_endsAtTheLimit(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		f := follow(db, "", stoat.Range{Limit: 3}, 0)
		synctest.Wait()
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b") })
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "c", "d") })
		f.ends(t, "a=v-a b=v-b. c=v-c", nil)
	})
}

func TestWatch_endsWhenTheBodyDoes(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		from := db.Position()
		f := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b") })
		for c, err := range db.Watch(t.Context(), stoat.Range{}, from) {
			ok(t, err)
			equal(t, textOf(c), "a=v-a")
			break
		}
		f.stop(t)
	})
}

func TestWatch_followsABucketToItsEnd(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		missing := follow(db, "out/in", stoat.Range{}, 0)
		missing.ends(t, "", stoat.ErrBucketNotFound)
		update(t, db, func(tx *stoat.Tx) { create(t, create(t, tx, "out"), "in") })
		in := follow(db, "out/in", stoat.Range{}, 0)
		part := follow(db, "/out/in", stoat.Range{Start: []byte("k"), End: []byte("l")}, 0)
		out := follow(db, "out", stoat.Range{}, 0)
		synctest.Wait()
		before := db.Position()
		update(t, db, func(tx *stoat.Tx) {
			put(t, tx, "k")
			put(t, bucket(t, tx, "out"), "o")
			put(t, bucket(t, bucket(t, tx, "out"), "in"), "k", "l")
		})
		in.wants(t, "k=v-k l=v-l.")
		part.wants(t, "k=v-k.")
		out.wants(t, "o=v-o.")
		update(t, db, func(tx *stoat.Tx) {
			put(t, bucket(t, bucket(t, tx, "out"), "in"), "m")
			ok(t, tx.DeleteBucket([]byte("out")))
			put(t, create(t, create(t, tx, "out"), "in"), "n")
		})
		in.ends(t, "k=v-k l=v-l. m=v-m -*:*.", stoat.ErrBucketNotFound)
		part.ends(t, "k=v-k. -k:l.", stoat.ErrBucketNotFound)
		out.ends(t, "o=v-o. -*:*.", stoat.ErrBucketNotFound)
		equal(t, in.at, db.Position())
		keeps := follow(db, "", stoat.Range{}, 0)
		again := follow(db, "out/in", stoat.Range{}, in.at)
		again.wants(t, "")
		update(t, db, func(tx *stoat.Tx) { put(t, bucket(t, bucket(t, tx, "out"), "in"), "o") })
		again.wants(t, "o=v-o.")
		again.stop(t)
		keeps.stop(t)
		late := follow(db, "out/in", stoat.Range{}, before)
		if <-late.done; !errors.Is(late.err, stoat.ErrLagged) { // there is a log
			late.ends(t, "-*:*.", stoat.ErrBucketNotFound)
		}
	})
}

// What a bucket gets before it comes to its path is no change of the bucket that the path names.
func TestWatch_tellsNothingOfABucketBeforeItCameToItsPath(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		keeps := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		update(t, db, func(tx *stoat.Tx) {
			put(t, create(t, tx, "b"), "old")
			put(t, create(t, create(t, tx, "c"), "in"), "early")
		})
		before := db.Position()
		update(t, db, func(tx *stoat.Tx) {
			put(t, bucket(t, tx, "b"), "older")
			put(t, bucket(t, bucket(t, tx, "c"), "in"), "new")
			put(t, bucket(t, tx, "c"), "new")
		})
		empty := db.Position()
		update(t, db, func(tx *stoat.Tx) {
			put(t, bucket(t, tx, "c"), "newer")
			ok(t, tx.RenameBucket([]byte("b"), []byte("a")))
			put(t, bucket(t, tx, "c"), "newest")
			ok(t, tx.RenameBucket([]byte("c"), []byte("b")))
		})
		for _, path := range []string{"b", "b/in"} {
			follow(db, path, stoat.Range{}, before).ends(t, "-*:*.", stoat.ErrBucketNotFound)
			follow(db, path, stoat.Range{}, empty).ends(t, "-*:*.", stoat.ErrBucketNotFound)
		}
		follow(db, "a", stoat.Range{}, before).ends(t, "", stoat.ErrLagged)
		settled := follow(db, "b", stoat.Range{}, db.Position())
		made := db.Position()
		update(t, db, func(tx *stoat.Tx) {
			put(t, create(t, tx, "tmp"), "made")
			create(t, tx, "other")
			ok(t, tx.RenameBucket([]byte("tmp"), []byte("named")))
			put(t, bucket(t, tx, "b"), "last")
		})
		settled.wants(t, "last=v-last.")
		settled.stop(t)
		named := follow(db, "named", stoat.Range{}, made)
		named.wants(t, "made=v-made.")
		named.stop(t)
		keeps.stop(t)
	})
}

func TestWatch_tellsWhatWasCommittedBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOn(t, memfs.New(), &stoat.Options{Sync: stoat.SyncNever})
		f := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		putAll(t, db, "a", "b")
		ok(t, db.Close())
		f.ends(t, "a=v-a. b=v-b.", stoat.ErrClosed)
		equal(t, f.at, db.Position())
		follow(db, "", stoat.Range{}, 0).ends(t, "", stoat.ErrClosed)
	})
}

func TestWatch_bodyMayUseTheDatabase(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		first := db.Position()
		f := follow(db, "", stoat.Range{}, first)
		synctest.Wait()
		ok(t, db.Put([]byte("n"), []byte("x")))
		for c, err := range db.Watch(t.Context(), stoat.Range{}, first) {
			if err != nil {
				wantErr(t, err, stoat.ErrClosed)
				break
			}
			if len(c.Value) == 3 {
				ok(t, db.Close())
				continue
			}
			ok(t, db.Put(c.Key, append(c.Value, 'x')))
		}
		f.ends(t, "n=x. n=xx. n=xxx.", stoat.ErrClosed)
	})
}

func TestWatch_lagsBehindCommitsInTables(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		f := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		putAll(t, db, "a")
		ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
			yield([]byte("b"), nil)
		}))
		f.ends(t, "a=v-a.", stoat.ErrLagged)
		equal(t, f.at, db.Position())
		g := follow(db, "", stoat.Range{}, f.at)
		synctest.Wait()
		putAll(t, db, "c")
		g.wants(t, "c=v-c.")
		g.stop(t)
	})
}

func TestWatch_lagsBehindLargeTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuning := engine.Tuning{MemtableBytes: 4 << 10, SpillBytes: 2 << 10}
		db, err := tuned.Open(memfs.New(), "db", nil, tuning)
		ok(t, err)
		f := follow(db, "", stoat.Range{}, 0)
		synctest.Wait()
		putAll(t, db, "a")
		update(t, db, func(tx *stoat.Tx) {
			for i := range 200 {
				put(t, tx, fmt.Sprint("spill", i))
			}
		})
		putAll(t, db, "b")
		f.ends(t, "a=v-a.", stoat.ErrLagged)
		ok(t, db.Close())
	})
}

func TestWatch_positionsOutliveClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		db := openOn(t, disk, nil)
		putAll(t, db, "a", "b")
		end := db.Position()
		ok(t, db.Close())
		db = openOn(t, disk, nil)
		equal(t, db.Position(), end)
		f, late := follow(db, "", stoat.Range{}, end), follow(db, "", stoat.Range{}, end-1)
		late.ends(t, "", stoat.ErrLagged)
		putAll(t, db, "c")
		f.wants(t, "c=v-c.")
		f.stop(t)
		ok(t, db.Close())
	})
}

// TestWatch_lagsAfterARestore follows with positions of the other of two databases, one of which is
// restored from a backup of the other.
func TestWatch_lagsAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, disk := openOn(t, memfs.New(), nil), memfs.New()
		putAll(t, db, "a", "b")
		common := db.Position()
		ok(t, tuned.Backup(t.Context(), db, disk, "db", false))
		restored := openOn(t, disk, nil)
		var keep []*follower
		for _, one := range []*stoat.DB{db, restored} {
			keep = append(keep, follow(one, "", stoat.Range{}, 0))
			synctest.Wait()
			putAll(t, one, "c", "d", "e")
		}
		follow(restored, "", stoat.Range{}, common).ends(t, "", stoat.ErrLagged)
		follow(restored, "", stoat.Range{}, db.Position()-1).ends(t, "", stoat.ErrLagged)
		follow(db, "", stoat.Range{}, restored.Position()-1).ends(t, "", stoat.ErrLagged)
		for _, one := range []*stoat.DB{db, restored} {
			f := follow(one, "", stoat.Range{}, one.Position()-1)
			f.wants(t, "e=v-e.")
			f.stop(t)
		}
		for _, f := range keep {
			f.stop(t)
		}
		end := restored.Position()
		ok(t, errors.Join(db.Close(), restored.Close()))
		restored = openOn(t, disk, nil)
		equal(t, restored.Position(), end)
		f := follow(restored, "", stoat.Range{}, end)
		putAll(t, restored, "f")
		f.wants(t, "f=v-f.")
		f.stop(t)
		ok(t, restored.Close())
	})
}

// TestWatch_keepsNothingWhileItWaits wants what was told to be collected while the loop waits, once
// it is in a table.
func TestWatch_keepsNothingWhileItWaits(t *testing.T) {
	db := openOn(t, memfs.New(), &stoat.Options{MemoryLimit: 16 << 20})
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	var started, told, gone atomic.Bool
	loop.Go(func() {
		for c, err := range db.Watch(ctx, stoat.Range{End: []byte("b")}, 0) {
			if started.Store(true); err == nil && len(c.Value) > 1 {
				runtime.AddCleanup(&c.Value[0], func(gone *atomic.Bool) { gone.Store(true) }, &gone)
				told.Store(true)
			}
		}
	})
	for !started.Load() {
		ok(t, db.Put([]byte("a"), nil))
	}
	ok(t, db.Put([]byte("a"), make([]byte, 100<<10)))
	for !told.Load() {
		runtime.Gosched()
	}
	for range 20 { // more than is kept
		ok(t, db.Put([]byte("not watched"), make([]byte, 100<<10)))
	}
	ok(t, db.Flush())
	for n := 0; !gone.Load() && n < 1000; n++ {
		runtime.GC()
		runtime.Gosched()
	}
	if !gone.Load() {
		t.Error("a change that was told stays in memory")
	}
	cancel()
	loop.Wait()
	ok(t, db.Close())
}

func TestWatch_refuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		db := openOn(t, disk, nil)
		for want, f := range map[string]*follower{
			"Range.Reverse": follow(db, "", stoat.Range{Reverse: true}, 0),
			"of a copy":     follow(db, "", stoat.Range{}, db.Position()+1),
		} {
			if <-f.done; f.err == nil || !strings.Contains(f.err.Error(), want) {
				t.Errorf("error %v, want one about %s", f.err, want)
			}
		}
		empty := db.Position()
		ok(t, db.Close())
		db = openOn(t, disk, &stoat.Options{ReadOnly: true})
		follow(db, "", stoat.Range{}, 0).ends(t, "", stoat.ErrReadOnly)
		equal(t, db.Position(), empty)
		ok(t, db.Close())
	})
}

func TestWatch_tellsExpiryWithThePut(t *testing.T) {
	watching(t, func(t *testing.T, db *stoat.DB) {
		from := db.Position()
		f := follow(db, "", stoat.Range{}, from)
		synctest.Wait()
		update(t, db, func(tx *stoat.Tx) {
			ok(t, tx.PutTTL([]byte("k"), nil, time.Hour))
			put(t, tx, "l")
		})
		var expires []time.Time
		for c, err := range db.Watch(t.Context(), stoat.Range{Limit: 2}, from) {
			ok(t, err)
			expires = append(expires, c.Expires)
		}
		if !expires[0].Equal(time.Now().Add(time.Hour)) || !expires[1].IsZero() {
			t.Errorf("the keys expire at %v, want in an hour and never", expires)
		}
		<-time.After(2 * time.Hour)
		f.wants(t, "k= l=v-l.")
		f.stop(t)
	})
}
