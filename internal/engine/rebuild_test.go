package engine

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// changed fetches like another one, except for a byte in the middle of a table.
func changed(fetch backup.Fetch, table uint64) backup.Fetch {
	return func(
		ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
	) error {
		if kind == folder.Table && number == table {
			to = &flipping{to}
		}
		return fetch(ctx, kind, number, off, n, to)
	}
}

// flipping is a writer that changes a byte in the middle of what it is given.
type flipping struct{ io.Writer }

func (f *flipping) Write(p []byte) (int, error) {
	other := append([]byte(nil), p...)
	other[len(p)/2] ^= 1
	return f.Writer.Write(other)
}

// noise returns words of which a few fill a block.
func noise(n int) (words []string) {
	source, p := rand.NewChaCha8([32]byte{byte(n)}), make([]byte, 1000)
	for range n {
		_, _ = source.Read(p)
		words = append(words, string(p))
	}
	return words
}

// twoTables returns the parts of a database of two tables, one of them with a value file.
func twoTables(t *testing.T) (p Parts, first, last uint64) {
	t.Helper()
	return tablesOf(t, []string{"a", strings.Repeat("value ", 2000)}, []string{"c", "d"})
}

// tablesOf returns the parts of a database with a table for each list of words.
func tablesOf(t *testing.T, tables ...[]string) (p Parts, first, last uint64) {
	t.Helper()
	e := mustOpen(t, memfs.New(), calm())
	for _, words := range tables {
		mustCommit(t, e, words...)
		ok(t, e.Flush())
	}
	p = parts(t, e)
	for table := range p.Version.Tables() {
		if first == 0 {
			first = table.Number
		}
		last = table.Number
	}
	if first == last {
		t.Fatal("there is one table")
	}
	return p, first, last
}

// A restore names everything that is damaged, and ends early only if that is much. What waits for
// ever otherwise, fails this test.
func TestRebuild_endsAtMuchDamageWhileFilesAreOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var words [][]string
		for i := range damagedMost + 1 {
			words = append(words, []string{string(rune('a' + i)), "value"})
		}
		right, _, last := tablesOf(t, words...)
		for _, missing := range []bool{false, true} {
			p := right
			p.Fetch = func(
				ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
			) error {
				switch {
				case number == last:
					<-ctx.Done()
					return context.Cause(ctx)
				case missing:
					return corrupt.New("object", 0, "it is missing")
				}
				return changed(right.Fetch, number)(ctx, kind, number, off, n, to)
			}
			disk := memfs.New()
			if err := Rebuild(t.Context(), disk, "db", p); !errors.Is(err, corrupt.Err) {
				t.Errorf("error %v", err)
			}
			ok(t, Rebuild(t.Context(), disk, "db", right))
		}
	})
}

// TestRebuild_namesAllDamage has tables with a wrong byte, and tables and value files that are
// missing, or too short.
func TestRebuild_namesAllDamage(t *testing.T) {
	big := strings.Join(noise(20), "")
	p, _, _ := tablesOf(t, []string{"a", "b"}, []string{"c", big}, []string{"d", "e"},
		[]string{"f", "g"}, []string{"h", "2" + big}, []string{"i", "j"})
	var files []arrival
	for _, f := range p.Version.ValueFiles {
		files = append(files, arrival{f.Kind(), f.Number})
	}
	values := len(files)
	for table := range p.Version.Tables() {
		files = append(files, arrivalOf(table))
	}
	if values == 0 {
		t.Fatal("there are no value files")
	}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bad := map[arrival]int{}
		for _, file := range files {
			if rng.IntN(2) == 0 {
				bad[file] = 1 + rng.IntN(2) // a value file with a wrong byte may be read as it was
			}
		}
		damaged := p
		damaged.Fetch = func(
			ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
		) error {
			file := arrival{kind, number}
			switch how := bad[file]; {
			case how == 0:
				return p.Fetch(ctx, kind, number, off, n, to)
			case how == 1 && kind == folder.Table:
				return changed(p.Fetch, number)(ctx, kind, number, off, n, to)
			case how == 1:
				if err := p.Fetch(ctx, kind, number, off, n/2, to); err != nil {
					return err
				}
			}
			return corrupt.New("data/"+kind.Name(number), off, "the object is missing, or ends")
		}
		disk := memfs.New()
		err := Rebuild(t.Context(), disk, "db", damaged)
		if len(bad) == 0 {
			ok(t, err)
			continue
		}
		if !errors.Is(err, corrupt.Err) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, file := range files {
			want := 0
			if bad[file] > 0 {
				want = 1
			}
			if got := strings.Count(err.Error(), file.kind.Name(file.number)); got != want {
				t.Errorf("seed %d: %s is named %d times, want %d: %v", seed, file.kind.Name(file.number),
					got, want, err)
			}
		}
		ok(t, Rebuild(t.Context(), disk, "db", p))
	}
}

// A restore that has failed does not read on what has come.
func TestRebuild_endsAtAFailureWhileATableIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, first, last := tablesOf(t, noise(300), noise(301))
		began, broken := make(chan struct{}), errors.New("broken")
		var reads atomic.Int64
		disk := faultfs.New(memfs.New(), func(op faultfs.Op) error {
			if op.Kind == faultfs.Map {
				return vfs.ErrNoMap
			}
			if op.Kind == faultfs.ReadAt && filepath.Base(op.Name) == folder.Table.Name(first) {
				if reads.Add(1) == 5 {
					close(began)
				}
				<-time.After(time.Second) // until all else waits
			}
			return nil
		})
		fetch := p.Fetch
		p.Fetch = func(
			ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
		) error {
			if number == last {
				<-began
				return broken
			}
			return fetch(ctx, kind, number, off, n, to)
		}
		if err := Rebuild(t.Context(), disk, "db", p); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		if n := reads.Load(); n > 10 { // 24 are all
			t.Errorf("the table was read %d times", n)
		}
	})
}

func TestRebuild_noticesDamageInAnyTable(t *testing.T) {
	p, first, last := twoTables(t)
	for _, table := range []uint64{first, last} {
		damaged := p
		damaged.Fetch = changed(p.Fetch, table)
		err := Rebuild(t.Context(), memfs.New(), "db", damaged)
		if !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), folder.Table.Name(table)) {
			t.Errorf("table %d: error %v", table, err)
		}
	}
}

func TestRebuild_endsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, last := twoTables(t)
		fetch := p.Fetch
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		p.Fetch = func(
			ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
		) error {
			if number == last {
				cancel(why)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return fetch(ctx, kind, number, off, n, to)
		}
		disk := memfs.New()
		if err := Rebuild(ctx, disk, "db", p); !errors.Is(err, why) {
			t.Errorf("error %v", err)
		}
		p.Fetch = fetch
		ok(t, Rebuild(t.Context(), disk, "db", p))
	})
}
