package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestRest_flushesALargeMemtableOnceNobodyCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := calm()
		o.Tuning.RestBytes = 1
		e := mustOpen(t, memfs.New(), o)
		for range 10 {
			mustCommit(t, e, "a")
			<-time.After(defaultRestAfter / 2)
			if n := e.Stats().Flushes; n != 0 {
				t.Fatalf("%d flushes between commits", n)
			}
		}
		<-time.After(3 * defaultRestAfter)
		if s := e.Stats(); s.Flushes != 1 || s.MemtableBytes != 0 {
			t.Errorf("%d flushes and %d bytes in memtables at rest", s.Flushes, s.MemtableBytes)
		}
		mustCommit(t, e, "b")
		<-time.After(3 * defaultRestAfter)
		if n := e.Stats().Flushes; n != 2 {
			t.Errorf("%d flushes after two pauses", n)
		}
		wantWords(t, e, "a", "b")
		ok(t, e.Close())
		<-time.After(3 * defaultRestAfter)
	})
}

func TestRest_leavesASmallMemtableAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		mustCommit(t, e, "a")
		<-time.After(3 * defaultRestAfter)
		if n := e.Stats().Flushes; n != 0 {
			t.Errorf("%d flushes", n)
		}
		ok(t, e.Close())
	})
}

func TestRest_waitsForATransactionThatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := calm()
		o.Tuning.RestBytes = 1
		e := mustOpen(t, memfs.New(), o)
		mustCommit(t, e, "a")
		w, err := e.Begin()
		ok(t, err)
		<-time.After(3 * defaultRestAfter)
		if n := e.Stats().Flushes; n != 0 {
			t.Errorf("%d flushes beside a transaction", n)
		}
		w.Rollback()
		<-time.After(3 * defaultRestAfter)
		if n := e.Stats().Flushes; n != 1 {
			t.Errorf("%d flushes after the transaction", n)
		}
		ok(t, e.Close())
	})
}
