package backup

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// elsewhere is files that are fetched, and how.
type elsewhere struct {
	version *manifest.Version
	bytes   map[item]string // by what they are
	delay   func() time.Duration

	mu     sync.Mutex
	onWay  int // pieces that are on their way
	most   int // of onWay
	asked  int // pieces that were asked for
	landed []uint64
}

// newElsewhere returns tables of some sizes, with numbers from 1 on, of which each points into a
// value file of a few bytes.
func newElsewhere(sizes ...int64) *elsewhere {
	e := &elsewhere{
		version: &manifest.Version{NextNumber: 200}, bytes: map[item]string{},
		delay: func() time.Duration { return time.Second },
	}
	var run manifest.Run
	for i, size := range sizes {
		values := manifest.ValueFile{Number: uint64(100 + i), Size: 3, Count: 1, Live: 1}
		key := []byte{byte(i)}
		run.Tables = append(run.Tables, &manifest.Table{
			Number: uint64(1 + i), Size: uint64(size), Entries: 1, Smallest: key, Largest: key,
			Values: []manifest.ValueShare{{File: values.Number, Count: 1, Bytes: 1}},
		})
		e.version.ValueFiles = append(e.version.ValueFiles, values)
	}
	e.version.Bottom = run
	random := rand.NewChaCha8([32]byte{7})
	for _, i := range itemsOf(e.version) {
		p := make([]byte, i.size)
		_, _ = random.Read(p)
		e.bytes[i] = string(p)
	}
	return e
}

func (e *elsewhere) count(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onWay += n
	e.most = max(e.most, e.onWay)
	e.asked += max(n, 0)
}

func (e *elsewhere) fetch(
	ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
) error {
	e.count(1)
	defer e.count(-1)
	select {
	case <-time.After(e.delay()):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for i, p := range e.bytes {
		if i.kind == kind && i.number == number {
			_, err := io.Copy(to, strings.NewReader(p[off:off+n]))
			return err
		}
	}
	return errors.New("there is no such file")
}

// assemble makes a copy in a folder, which is closed.
func (e *elsewhere) assemble(target vfs.FS, fetch Fetch) error {
	f, err := BeginEmpty(target, "backup")
	if err != nil {
		return err
	}
	err = f.Adopt([16]byte{1}, e.version)
	if err == nil {
		err = f.Assemble(context.Background(), fetch, func(_ folder.Kind, number uint64) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.landed = append(e.landed, number)
		})
	}
	if err == nil {
		err = f.Commit(e.version)
	}
	return errors.Join(err, f.Close())
}

// wantIn wants the files to be in a folder.
func (e *elsewhere) wantIn(t *testing.T, target vfs.FS) {
	t.Helper()
	for i, p := range e.bytes {
		if read(t, target, "backup/"+i.name()) != p {
			t.Errorf("%s has other bytes", i.name())
		}
	}
}

func TestAssemble_takesAnswersInAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		e := newElsewhere(0, 1, pieceBytes, pieceBytes+1, 3*pieceBytes-1)
		var drawing sync.Mutex
		e.delay = func() time.Duration {
			drawing.Lock()
			defer drawing.Unlock()
			return time.Duration(random.IntN(1000)) * time.Millisecond
		}
		target := memfs.New()
		ok(t, e.assemble(target, e.fetch))
		e.wantIn(t, target)
		slices.Sort(e.landed)
		if want := []uint64{1, 2, 3, 4, 5, 100, 101, 102, 103, 104}; !slices.Equal(e.landed, want) {
			t.Errorf("the files %d are there, want %d", e.landed, want)
		}
	})
}

// What is on its way may be in memory, and takes as long as the slowest answer.
func TestAssemble_hasSomePiecesOnTheirWay(t *testing.T) {
	small := slices.Repeat([]int64{10}, 50)
	for _, sizes := range [][]int64{{(piecesMost + 1) * pieceBytes}, small} {
		synctest.Test(t, func(t *testing.T) {
			e, start := newElsewhere(sizes...), time.Now()
			ok(t, e.assemble(memfs.New(), e.fetch))
			if e.most != piecesMost {
				t.Errorf("%d pieces are on their way at a time, want %d", e.most, piecesMost)
			}
			turns := time.Duration((e.asked + piecesMost - 1) / piecesMost)
			if took := time.Since(start); took != turns*time.Second {
				t.Errorf("%d pieces take %v, want %v turns of a second", e.asked, took, turns)
			}
		})
	}
}

func TestAssemble_bringsATableAfterItsValues(t *testing.T) {
	e := newElsewhere(1, 1, 1)
	e.version.ValueFiles = append(e.version.ValueFiles, manifest.ValueFile{Number: 110, Size: 1})
	var order []uint64
	for _, i := range inOrder(e.version) {
		order = append(order, i.number)
	}
	if want := []uint64{100, 1, 101, 2, 102, 3, 110}; !slices.Equal(order, want) {
		t.Errorf("the order is %d, want %d", order, want)
	}
}

// After an error, nothing else is asked for, the folder has nothing, and takes the next try.
func TestAssemble_endsWithTheFirstError(t *testing.T) {
	errBroken := errors.New("broken")
	full := func(target vfs.FS) vfs.FS {
		return faultfs.New(target, func(op faultfs.Op) error {
			if op.Kind == faultfs.WriteAt && strings.HasSuffix(op.Name, ".table") {
				return errBroken
			}
			return nil
		})
	}
	unsynced := func(target vfs.FS) vfs.FS { return failingSync(target, "000001.table") }
	same := func(target vfs.FS) vfs.FS { return target }
	for name, wrap := range map[string]func(vfs.FS) vfs.FS{
		"a request fails": same, "the disk is full": full, "a sync fails": unsynced,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, target := newElsewhere(slices.Repeat([]int64{10}, 50)...), memfs.New()
				fetch := e.fetch
				if name == "a request fails" {
					fetch = func(
						ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
					) error {
						return errors.Join(e.fetch(ctx, kind, number, off, n, to), errBroken)
					}
				}
				if err := e.assemble(wrap(target), fetch); err == nil ||
					name != "a sync fails" && !errors.Is(err, errBroken) {
					t.Fatalf("error %v", err)
				}
				if e.asked > 2*piecesMost {
					t.Errorf("%d pieces were asked for, most of them after the error", e.asked)
				}
				left, err := target.List("backup")
				ok(t, err)
				for _, name := range left {
					if strings.HasSuffix(name, ".table") || strings.HasPrefix(name, "MANIFEST") {
						t.Errorf("%s is left", name)
					}
				}
				ok(t, e.assemble(target, e.fetch))
				e.wantIn(t, target)
			})
		})
	}
}
