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
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// damageBottom changes a byte of the first value of the oldest table.
func damageBottom(t testing.TB, e *Engine, files vfs.FS) {
	t.Helper()
	name := folder.Table.Name(e.state.Load().Levels.Version.Bottom.Tables[0].Number)
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
			if s.Merges != uint64(c.merges) || s.YoungRuns != 1 || attempts != c.attempts ||
				s.Failures != uint64(attempts) || s.NoSpace != 0 {
				t.Errorf("step %d: %d attempts, %+v", i, attempts, s)
			}
		}
		ok(t, e.Close())
	})
}

func TestSetAside_needsToKnowTheFile(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	overlap(t, e, 1)
	v := e.state.Load().Levels.Version
	next := pick.IntoBottom(v)
	for _, err := range []error{errBroken, corrupt.New("db/LOCK", 0, "bad"), corrupt.Err} {
		if e.setAside(err, next) {
			t.Errorf("%v: set aside", err)
		}
	}
	other := corrupt.New("db/009999.values", 0, "bad")
	if e.setAside(other, next) {
		t.Error("damage in a file that the compaction does not read keeps it from being picked")
	}
	damage := corrupt.New("db/"+folder.Table.Name(v.Bottom.Tables[0].Number), 0, "bad")
	if !e.setAside(errors.Join(errBroken, damage), next) {
		t.Error("a compaction that reads a damaged table would be picked at once")
	}
	ok(t, e.Close())
}
