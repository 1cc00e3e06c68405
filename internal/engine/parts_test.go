package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// inParts are options with which young runs wait until they are to go into the bottom run, in many
// parts.
func inParts() Options {
	o := calm()
	o.Compression = CompressionNone
	o.Tuning.TableBytes, o.Tuning.BlockBytes, o.Tuning.PartBytes = 4<<10, 256, 16<<10
	return o
}

// scramble commits values for keys in random order, and flushes them to a few young runs. It
// returns the values in the order of the keys.
func scramble(t testing.TB, e *Engine, round string) (words []string) {
	t.Helper()
	const count, runs = 2000, 4
	for run := range runs {
		w, err := e.Begin()
		ok(t, err)
		for _, i := range rand.Perm(count) {
			if i%runs == run {
				word := fmt.Sprintf("%s-%06d-%080x", round, i, rand.Uint64())
				ok(t, w.Put(dataKey("%06d", i), []byte(word), 0))
				words = append(words, word)
			}
		}
		ok(t, w.Commit())
		ok(t, e.Flush())
	}
	slices.SortFunc(words, func(a, b string) int {
		return strings.Compare(a[len(round):][:7], b[len(round):][:7])
	})
	return words
}

// usage counts what the files of a database take.
type usage struct {
	disk *memfs.FS
	peak atomic.Int64
}

// note looks at the files before one of them is made or removed, and when one is complete.
func (u *usage) note(op faultfs.Op) error {
	if op.Kind == faultfs.Create || op.Kind == faultfs.Remove || op.Kind == faultfs.Close {
		u.peak.Store(max(u.peak.Load(), u.now()))
	}
	return nil
}

func (u *usage) now() (bytes int64) {
	names, err := u.disk.List("db")
	if err != nil {
		return 0
	}
	for _, name := range names {
		if f, err := u.disk.Open(filepath.Join("db", name)); err == nil {
			size, _ := f.Size() // of a file in memory
			bytes += size
			_ = f.Close()
		}
	}
	return bytes
}

func TestCompact_ofKeysInRandomOrderTakesTheSpaceOfAPart(t *testing.T) {
	used := &usage{disk: memfs.New()}
	o := inParts()
	e := mustOpen(t, faultfs.New(used.disk, used.note), o)
	scramble(t, e, "old")
	ok(t, e.Compact(t.Context()))
	want := scramble(t, e, "new")
	runs, before := int64(e.Stats().YoungRuns), used.now()
	used.peak.Store(0)
	ok(t, e.Compact(t.Context()))
	wantWords(t, e, want...)
	extra := used.peak.Load() - before
	most := o.Tuning.PartBytes*2 + (runs+2)*o.Tuning.TableBytes*5/4
	if t.Logf("%d bytes take up to %d more, of %d", before, extra, most); extra > most {
		t.Errorf("a compaction of %d bytes takes %d more, want up to %d", before, extra, most)
	}
	if before < 5*most {
		t.Errorf("there are only %d bytes", before)
	}
	if s := e.Stats(); s.YoungRuns > 0 {
		t.Errorf("%d young runs are left", s.YoungRuns)
	}
}

// interrupted returns the disk of a database whose compaction was ended while it wrote the table of
// the given index, what the database holds, and the numbers of the tables before that one.
func interrupted(
	t testing.TB, at int, end func(e *Engine) error,
) (disk *memfs.FS, want []string, complete []uint64) {
	t.Helper()
	disk = memfs.New()
	armed := new(atomic.Bool)
	reached, ended := make(chan struct{}), make(chan struct{})
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if !armed.Load() || !is(faultfs.Create, tableSuffix)(op) {
			return nil
		}
		if len(complete)+1 < at {
			_, number := folder.Parse(filepath.Base(op.Name))
			complete = append(complete, number)
		} else if armed.CompareAndSwap(true, false) {
			close(reached)
			<-ended
		}
		return nil
	})
	e := mustOpen(t, files, inParts())
	scramble(t, e, "old")
	ok(t, e.Compact(t.Context()))
	want = scramble(t, e, "new")
	armed.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Compact(ctx) }()
	<-reached
	closed := make(chan error, 1)
	if end == nil {
		cancel()
	} else {
		go func() { closed <- end(e) }()
		waitFor(e, e.closed.Load)
	}
	close(ended)
	if err := <-done; err == nil {
		t.Errorf("a compaction that is ended gives no error")
	}
	cancel()
	if end == nil {
		closed <- e.Close()
	}
	ok(t, <-closed)
	return disk, want, complete
}

func TestCompact_thatIsEndedKeepsWhatItHasDone(t *testing.T) {
	for name, end := range map[string]func(e *Engine) error{
		"by its context": nil, "by Close": (*Engine).Close,
	} {
		for _, at := range []int{3, 30} {
			disk, want, complete := interrupted(t, at, end)
			e := mustOpen(t, disk, Options{ReadOnly: true})
			wantWords(t, e, want...)
			ok(t, e.Check(t.Context(), true))
			version := e.state.Load().Levels.Version
			front, begun := version.Front()
			if !begun {
				t.Fatalf("%s: nothing is left of %d tables", name, at)
			}
			done := version.Young[front.At].Tables
			for _, number := range complete {
				if !slices.ContainsFunc(done, func(t *manifest.Table) bool { return t.Number == number }) {
					t.Errorf("%s: table %d of %d is lost", name, number, complete)
				}
			}
			ok(t, e.Close())
			e = mustOpen(t, disk, Options{
				Compression: CompressionNone, Tuning: Tuning{PartBytes: 16 << 10, TableBytes: 4 << 10},
			})
			waitFor(e, e.settled)
			wantWords(t, e, want...)
			wantKept(t, name, e.state.Load().Levels.Version, done)
			ok(t, e.Close())
		}
	}
}

// wantKept checks that tables are part of the bottom run.
func wantKept(t testing.TB, what string, v *manifest.Version, tables []*manifest.Table) {
	t.Helper()
	kept := map[uint64]bool{}
	for _, table := range v.Bottom.Tables {
		kept[table.Number] = true
	}
	for _, table := range tables {
		if !kept[table.Number] {
			t.Errorf("%s: table %d was written in vain", what, table.Number)
		}
	}
}

// A snapshot sees the same during all parts, and so does who begins to read between them.
func TestCompact_inPartsIsNotSeen(t *testing.T) {
	var e *Engine
	looks, armed := new(atomic.Int64), new(atomic.Bool)
	var want []string
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if armed.Load() && is(faultfs.Create, tableSuffix)(op) && looks.Add(1)%4 == 0 {
			wantWords(t, e, want...)
		}
		return nil
	})
	e = mustOpen(t, files, inParts())
	scramble(t, e, "old")
	ok(t, e.Compact(t.Context()))
	want = scramble(t, e, "new")
	old, err := e.Snapshot(1)
	ok(t, err)
	defer e.Release(1)
	armed.Store(true)
	ok(t, e.Compact(t.Context()))
	if got := wordsIn(t, old); !slices.Equal(got, want) {
		t.Error("a snapshot has changed")
	}
	if looks.Load() < 20 {
		t.Errorf("only %d tables were written", looks.Load())
	}
}

// Commits come in between the parts of a compaction, which are no tidying up.
func TestCompaction_thatHasBegunGoesOnBesideCommits(t *testing.T) {
	disk, want, _ := interrupted(t, 3, (*Engine).Close)
	o := inParts()
	e := mustOpen(t, disk, o)
	mustCommit(t, e, "x")
	ok(t, e.Flush())
	waitFor(e, func() bool { return len(e.state.Load().Levels.Young) <= 1 })
	wantWords(t, e, append(want, "x")...)
	ok(t, e.Close())
}

// What fails in a later part leaves the earlier ones.
func TestCompact_thatFailsKeepsThePartsBefore(t *testing.T) {
	disk, made := memfs.New(), new(atomic.Int64)
	files, broken := failing(disk, errBroken, func(op faultfs.Op) bool {
		return is(faultfs.Create, tableSuffix)(op) && made.Add(1) > 12
	})
	e := mustOpen(t, files, inParts())
	scramble(t, e, "old")
	ok(t, e.Compact(t.Context()))
	want := scramble(t, e, "new")
	broken.Store(true)
	if err := e.Compact(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("the error is %v", err)
	}
	version := e.state.Load().Levels.Version
	front, begun := version.Front()
	if !begun {
		t.Fatal("there is no part")
	}
	done := version.Young[front.At].Tables
	broken.Store(false)
	ok(t, e.Compact(t.Context()))
	wantKept(t, "a failed compaction", e.state.Load().Levels.Version, done)
	wantWords(t, e, want...)
	ok(t, e.Close())
}

// TestClose_joinsNoFrontWithOthers closes a database again and again that has no time to compact.
func TestClose_joinsNoFrontWithOthers(t *testing.T) {
	disk, want, _ := interrupted(t, 30, (*Engine).Close)
	o := inParts()
	o.Tuning.YoungRuns, o.Tuning.CloseBytes = 1, 1<<20
	for i := range 8 {
		reached, closing, made := make(chan struct{}), make(chan struct{}), new(atomic.Int64)
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if is(faultfs.Create, tableSuffix)(op) && made.Add(1) == 1 { // of the compaction
				close(reached)
				<-closing
			}
			return nil
		})
		e := mustOpen(t, files, o)
		<-reached
		word := fmt.Sprint("x", i)
		mustCommit(t, e, word)
		want = append(want, word)
		closed := make(chan error, 1)
		go func() { closed <- e.Close() }()
		waitFor(e, e.closed.Load)
		close(closing)
		ok(t, <-closed)
		r := mustOpen(t, disk, Options{ReadOnly: true})
		version := r.state.Load().Levels.Version
		if _, begun := version.Front(); !begun || len(version.Young) > 12 {
			t.Fatalf("after session %d, a front: %v, young runs: %d", i, begun, len(version.Young))
		}
		wantWords(t, r, want...)
		ok(t, r.Close())
	}
}

func TestShipper_givesCompactionsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(porter)
		p.full.Store(true)
		e := mustOpen(t, memfs.New(), Options{
			Shipper: p, Tuning: Tuning{IdleAfter: time.Second, YoungRuns: 100},
		})
		overlap(t, e, 2)
		<-time.After(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Compact(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without room, Compact gives %v", err)
		}
		if s := e.Stats(); s.Merges > 0 {
			t.Errorf("without room, there are %d compactions", s.Merges)
		}
		p.full.Store(false)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if s := e.Stats(); s.Merges != 1 {
			t.Errorf("with room, there are %d compactions", s.Merges)
		}
		p.full.Store(true)
		overlap(t, e, 2)
		<-time.After(time.Minute)
		ok(t, e.Close()) // which does not wait for room
	})
}
