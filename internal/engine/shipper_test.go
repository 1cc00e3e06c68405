package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// porter is a shipper that ships nothing.
type porter struct {
	found     []Found
	first     uint64
	branch    uint64
	err       error         // of Claim
	admit     chan struct{} // if not nil, a transaction waits for an item
	installed atomic.Int64
	full      atomic.Bool // there is no room for a compaction
	withholds bool
}

func (p *porter) Claim(f Found) (Claimed, error) {
	p.found = append(p.found, f)
	return Claimed{First: p.first, Branch: p.branch}, p.err
}

func (p *porter) Admit(ctx context.Context) error {
	if p.admit == nil {
		return nil
	}
	select {
	case <-p.admit:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *porter) Installed() { p.installed.Add(1) }

func (p *porter) Room(*manifest.Version, int64) bool { return !p.full.Load() }

func (p *porter) Withholds() bool { return p.withholds }

func TestShipper_claimsBeforeAnythingChanges(t *testing.T) {
	disk := memfs.New()
	p := &porter{err: errBroken}
	o := calm()
	o.Shipper = p
	if _, err := Open(disk, "db", o); !errors.Is(err, errBroken) {
		t.Fatalf("the error is %v", err)
	}
	if !p.found[0].New {
		t.Error("an empty folder counts as a database")
	}
	if got := named(t, disk, ""); !slices.Equal(got, []string{folder.LockName}) {
		t.Errorf("the folder has %q", got)
	}
	p.err, p.first = nil, 1<<36
	e := mustOpen(t, disk, o)
	mustCommit(t, e, "a")
	branch := e.Branch()
	ok(t, e.Close())
	if got := named(t, disk, tableSuffix); len(got) != 1 || got[0] < folder.Table.Name(1<<36) {
		t.Errorf("the tables are %q", got)
	}
	e = mustOpen(t, disk, o)
	if f := p.found[2]; f.New || f.Commit != 1 || f.Branch != branch || f.Database != e.Database() {
		t.Errorf("a database was found as %+v", f)
	}
	wantWords(t, e, "a")
}

func TestShipper_lockIsHeldAndReleased(t *testing.T) {
	disk, inside := memfs.New(), error(nil)
	p := &porter{}
	o := calm()
	o.Shipper = claimFunc{p, func() {
		_, inside = Open(disk, "db", calm())
	}}
	e := mustOpen(t, disk, o)
	if !errors.Is(inside, vfs.ErrLocked) {
		t.Errorf("while the database is claimed, opening it gives %v", inside)
	}
	ok(t, e.Close())
	ok(t, mustOpen(t, disk, calm()).Close())
}

// claimFunc is a porter that calls a function when it claims.
type claimFunc struct {
	*porter
	fn func()
}

func (c claimFunc) Claim(f Found) (Claimed, error) {
	c.fn()
	return c.porter.Claim(f)
}

func TestShipper_admitsTransactions(t *testing.T) {
	p := &porter{admit: make(chan struct{}, 1)}
	o := calm()
	o.Shipper = p
	e := mustOpen(t, memfs.New(), o)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if _, err := e.BeginContext(ctx); !errors.Is(err, errBroken) {
		t.Errorf("a transaction that is not admitted gives %v", err)
	}
	p.admit <- struct{}{}
	mustCommit(t, e, "a")
	ok(t, e.Flush()) // is no transaction
	if p.installed.Load() == 0 {
		t.Error("a flush tells the shipper nothing")
	}
}

func TestHold_keepsFilesUntilReleased(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	for _, word := range []string{"a", "b"} {
		mustCommit(t, e, word)
		ok(t, e.Flush())
	}
	h := e.Hold()
	before := named(t, disk, tableSuffix)
	ok(t, e.Compact(t.Context()))
	for held := range h.Version.Tables() {
		f, err := h.Open(folder.Table, held.Number)
		ok(t, err)
		ok(t, f.Close())
	}
	h.Release()
	for _, name := range before {
		if slices.Contains(named(t, disk, tableSuffix), name) {
			t.Errorf("%s is kept after it was released", name)
		}
	}
	wantWords(t, e, "a", "b")
}

// parts returns what the database consists of: the files held, and the commits above.
func parts(t testing.TB, e *Engine) Parts {
	t.Helper()
	h := e.Hold()
	t.Cleanup(h.Release)
	f, err := e.Follow()
	ok(t, err)
	t.Cleanup(f.Close)
	return Parts{
		Database: e.Database(), Version: h.Version,
		Fetch: func(
			_ context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
		) error {
			from, err := h.Open(kind, number)
			ok(t, err)
			defer from.Close()
			_, err = io.Copy(to, io.NewSectionReader(from, off, n))
			return err
		},
		Commits: func(apply func(uint64, []byte) error) error {
			return f.Through(t.Context(), h.Version.LastCommit, e.Visible(), func(b commit.Batch) error {
				return apply(b.Commit, b.Bytes())
			})
		},
	}
}

func TestRebuild_makesTheSameDatabase(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	long := strings.Repeat("value ", 2000) // in a value file or the log
	mustCommit(t, e, "a", "b", long+"1")
	ok(t, e.Flush())
	mustCommit(t, e, "c", long+"2")
	w, err := e.Begin()
	ok(t, err)
	ok(t, w.Delete(dataKey("%s", "a")))
	ok(t, w.Commit())
	disk := memfs.New()
	ok(t, Rebuild(t.Context(), disk, "db", parts(t, e)))
	rebuilt := mustOpen(t, disk, calm())
	wantWords(t, rebuilt, wordsOf(t, e)...)
	if rebuilt.Visible() != e.Visible() || rebuilt.Database() != e.Database() {
		t.Errorf("the newest commit is %d, want %d", rebuilt.Visible(), e.Visible())
	}
	if rebuilt.Branch() == e.Branch() {
		t.Error("the branch is the same")
	}
}

func TestRebuild_countsCommitsThatLeaveNothing(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	w, err := e.Begin()
	ok(t, err)
	ok(t, w.Delete(dataKey("%s", "nothing")))
	ok(t, w.Commit())
	disk := memfs.New()
	ok(t, Rebuild(t.Context(), disk, "db", parts(t, e)))
	if got := mustOpen(t, disk, calm()).Visible(); got != e.Visible() {
		t.Errorf("the newest commit is %d, want %d", got, e.Visible())
	}
}

func TestRebuild_thatFailsCanBeRepeated(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	mustCommit(t, e, "a", "b")
	ok(t, e.Flush())
	mustCommit(t, e, "c")
	p := parts(t, e)
	broken := p
	broken.Commits = func(func(uint64, []byte) error) error { return errBroken }
	disk := memfs.New()
	if err := Rebuild(t.Context(), disk, "db", broken); !errors.Is(err, errBroken) {
		t.Fatalf("the error is %v", err)
	}
	ok(t, Rebuild(t.Context(), disk, "db", p))
	wantWords(t, mustOpen(t, disk, calm()), "a", "b", "c")
}

func TestOptions_keepWhatIsShipped(t *testing.T) {
	for _, c := range []struct{ limit, alone, shipped int64 }{
		{16 << 20, 512 << 10, 2 << 20}, {128 << 20, 4 << 20, 10 << 20}, {1 << 30, 32 << 20, 32 << 20},
	} {
		alone, shipped := Options{MemoryLimit: c.limit}, Options{MemoryLimit: c.limit, Shipper: &porter{}}
		if alone.recentBytes() != c.alone || shipped.recentBytes() != c.shipped {
			t.Errorf("of a limit of %d, commits may take %d, and %d if they are shipped; want %d, %d",
				c.limit, alone.recentBytes(), shipped.recentBytes(), c.alone, c.shipped)
		}
	}
}
