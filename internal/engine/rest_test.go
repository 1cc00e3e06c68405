package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
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
		if n := e.Stats().Flushes; n != 1 {
			t.Errorf("%d flushes after a short pause that came soon", n)
		}
		<-time.After((longPause - 1) * defaultRestAfter)
		if n := e.Stats().Flushes; n != 2 {
			t.Errorf("%d flushes after a long pause", n)
		}
		<-time.After(restApart * defaultRestAfter)
		mustCommit(t, e, "c")
		<-time.After(3 * defaultRestAfter)
		if n := e.Stats().Flushes; n != 3 {
			t.Errorf("%d flushes after a short pause that came late", n)
		}
		wantWords(t, e, "a", "b", "c")
		ok(t, e.Close())
		<-time.After(3 * defaultRestAfter)
	})
}

func TestRest_comesBeforeCompactionsThatTidyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = defaultIdleAfter
		files, created := noted(never)
		o := Options{Tuning: Tuning{RestBytes: 1, RestAfter: idle * 3 / 2, YoungRuns: 100}}
		e := mustOpen(t, files, o)
		overlap(t, e, 2)
		mustCommit(t, e, "b")
		last, flushed := time.Now(), len(created.all())
		<-time.After(time.Hour)
		if n := len(created.all()) - flushed; n != 2 {
			t.Errorf("%d tables were made, want one by a flush and one by a compaction", n)
		}
		for _, at := range created.all()[flushed:] {
			if d := at.Sub(last); d > 2*idle {
				t.Errorf("a table was made %v after the last commit", d)
			}
		}
		ok(t, e.Close())
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

func TestRest_leavesCloseNothingToWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		e := mustOpen(t, disk, Options{Tuning: Tuning{RestBytes: 1}})
		overlap(t, e, 2)
		mustCommit(t, e, "b")
		<-time.After(time.Minute)
		before := image(t, disk)
		ok(t, e.Close())
		wantImage(t, disk, before)
	})
}

func TestRest_renewsTheManifestOfADatabaseThatPassesItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), Options{Tuning: Tuning{RestBytes: 1}})
		overlap(t, e, 2)
		mustCommit(t, e, "b")
		<-time.After(time.Minute)
		if e.installing.edits > 0 {
			t.Fatal("the manifest was not renewed")
		}
		ok(t, e.Check(t.Context(), true))
		mustCommit(t, e, "c")
		<-time.After(time.Minute)
		ok(t, e.Check(t.Context(), true))
		ok(t, e.Close())
	})
}

// Without a new manifest, the old one goes on, and Close tries again.
func TestRest_goesOnWithoutANewManifest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		files, broken := failing(disk, errBroken, is(faultfs.Create, "MANIFEST-"))
		e := mustOpen(t, files, Options{Tuning: Tuning{RestBytes: 1}})
		overlap(t, e, 2)
		broken.Store(true)
		mustCommit(t, e, "b")
		<-time.After(time.Minute)
		broken.Store(false)
		mustCommit(t, e, "c")
		ok(t, e.Close())
		state, err := manifest.Load(disk, "db")
		ok(t, err)
		if state.Edits > 0 {
			t.Errorf("the manifest has %d edits", state.Edits)
		}
		wantWords(t, mustOpen(t, disk, Options{ReadOnly: true}), "a", "b", "c", "z")
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
