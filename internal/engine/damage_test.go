package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// damageBottom changes a byte of the first value of the oldest table.
func damageBottom(t testing.TB, e *Engine, files vfs.FS) {
	t.Helper()
	name := run.Name(e.state.Load().Levels.Version.Bottom.Tables[0].Number)
	p := content(t, files, name)
	p[64] ^= 1 // behind the file's header and the block's
	put(t, files, name, p)
}

// TestCompaction_thatMeetsDamageLetsOthersGoFirst has a damaged table under young runs: these are
// still compacted with each other at once, and with the table when it is time to try again.
func TestCompaction_thatMeetsDamageLetsOthersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Second
		disk := memfs.New()
		var logged bytes.Buffer
		e := mustOpen(t, disk, Options{
			Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Tuning: Tuning{IdleAfter: idle, YoungRuns: 100},
		})
		mustCommit(t, e, "m") // which nothing newer hides
		overlap(t, e, 0)
		damageBottom(t, e, disk)
		overlap(t, e, 2)
		for i, c := range []struct {
			pause            time.Duration
			merges, attempts int
		}{{5 * idle, 1, 1}, {5 * idle, 2, 1}, {retryDamaged, 3, 2}, {retryDamaged, 4, 3}} {
			if i > 0 {
				overlap(t, e, 0)
			}
			<-time.After(c.pause)
			synctest.Wait()
			attempts := strings.Count(logged.String(), "compaction met damage")
			s := e.Stats()
			if s.Merges != uint64(c.merges) || s.YoungRuns != 1 || attempts != c.attempts {
				t.Errorf("step %d: %d attempts, %+v", i, attempts, s)
			}
		}
		ok(t, e.Close())
	})
}

func TestPick_leavesWhatIsDamagedForLast(t *testing.T) {
	stale := func(number uint64, first, last string) *manifest.Table {
		table := tableOf(number, testMB, first, last)
		table.StaleAt = 500
		return table
	}
	bottom := manifest.Run{Tables: []*manifest.Table{stale(1, "a", "c"), stale(2, "d", "f")}}
	many := func(n int) (tables []*manifest.Table) {
		for i := range n {
			tables = append(tables, tableOf(uint64(10+i), testMB, "b", "e"))
		}
		return tables
	}
	for _, c := range []struct {
		name    string
		version manifest.Version
		damaged damaged
		want    string
	}{
		{"nothing", manifest.Version{Bottom: bottom}, nil, "expired bottom [1] down"},
		{"the first", manifest.Version{Bottom: bottom}, damaged{1: 2000},
			"expired bottom [2] down"},
		{"the first, to be tried again", manifest.Version{Bottom: bottom}, damaged{1: 1000},
			"expired bottom [2] down"},
		{"all", manifest.Version{Bottom: bottom}, damaged{1: 2000, 2: 2000}, "nothing"},
		{"all, one to be tried again", manifest.Version{Bottom: bottom}, damaged{1: 1000, 2: 2000},
			"expired bottom [1] down"},
		{"what many young runs overlap",
			manifest.Version{Young: runsOf(many(12)...), Bottom: manifest.Run{
				Tables: []*manifest.Table{tableOf(1, testMB/2, "a", "z")}}},
			damaged{1: 2000}, "crowded young 0..11"},
		{"one of many young runs",
			manifest.Version{Young: runsOf(many(12)...), Bottom: manifest.Run{
				Tables: []*manifest.Table{tableOf(1, testMB/2, "a", "z")}}},
			damaged{14: 2000}, "crowded young 0..6"},
	} {
		p := picker{youngRuns: 4, now: 1000, damaged: c.damaged}
		if got := outcome(p.pick(&c.version)); got != c.want {
			t.Errorf("%s is damaged: picked %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPick_mergesFewRunsBetweenDamagedOnes(t *testing.T) {
	bad := damaged{1: 2000}
	var tables []*manifest.Table
	for i := range 25 {
		tables = append(tables, tableOf(uint64(10+i), testMB, "b", "e"))
		if i%3 == 2 {
			bad[uint64(10+i)] = 2000
		}
	}
	bottom := manifest.Run{Tables: []*manifest.Table{tableOf(1, 100*testMB, "a", "z")}}
	for n, want := range map[int]string{24: "nothing", 25: "crowded young 23..24"} {
		version := manifest.Version{Young: runsOf(tables[:n]...), Bottom: bottom}
		if got := outcome(picker{youngRuns: 4, damaged: bad}.pick(&version)); got != want {
			t.Errorf("of %d young runs: picked %s, want %s", n, got, want)
		}
	}
}

func TestSetAside_needsToKnowTheFile(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	overlap(t, e, 1)
	v := e.state.Load().Levels.Version
	next := intoBottom("", v)
	for _, err := range []error{errBroken, corrupt.New("db/LOCK", 0, "bad"), corrupt.Err} {
		if e.setAside(err, next) {
			t.Errorf("%v: set aside", err)
		}
	}
	other := corrupt.New("db/009999.values", 0, "bad")
	if e.setAside(other, next) {
		t.Error("damage in a file that the compaction does not read keeps it from being picked")
	}
	damage := corrupt.New("db/"+run.Name(v.Bottom.Tables[0].Number), 0, "bad")
	if !e.setAside(errors.Join(errBroken, damage), next) {
		t.Error("a compaction that reads a damaged table would be picked at once")
	}
	ok(t, e.Close())
}
