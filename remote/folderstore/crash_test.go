package folderstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// object is what a workload has stored, or deleted.
type object struct{ body string }

// history is what a workload may rely on: the objects of requests that returned, and the one of the
// request in progress.
type history struct {
	stored  map[string]object
	deleted map[string]bool
	current string
}

// work runs a workload of two processes that build on each other's objects.
func (h *history) work(t *testing.T, a, b *Store) {
	create := func(s *Store, name string) {
		h.current = name
		body := strings.Repeat(name, 300)
		err := s.Create(t.Context(), name, []byte(body))
		if err == nil || errors.Is(err, objstore.ErrExists) {
			h.stored[name] = object{body}
		}
	}
	put := func(s *Store, name string) {
		h.current = name
		body := strings.Repeat(name, 700)
		if s.Put(t.Context(), name, strings.NewReader(body), int64(len(body))) == nil {
			h.stored[name] = object{body}
		}
	}
	create(a, "log/1")
	create(b, "log/1") // exists
	put(b, "data/7f/1.table")
	create(b, "log/2")
	create(a, "log/2") // exists
	put(a, "data/7f/1.table")
	h.current = "log/1"
	delete(h.stored, "log/1")
	if a.Delete(t.Context(), []string{"log/1"}) == nil {
		h.deleted["log/1"] = true
	}
	create(b, "log/3")
	h.current = ""
}

// verify opens the store that a crash has left.
func (h *history) verify(t *testing.T, disk *memfs.FS) error {
	s, err := open(disk, "store")
	if err != nil {
		return err
	}
	for name, want := range h.stored {
		if name == h.current {
			continue
		}
		got, err := s.Get(t.Context(), name, 0, -1)
		if err != nil || string(got) != want.body {
			return fmt.Errorf("%s holds %.20q of %d bytes, want %d: %w", name, got, len(got),
				len(want.body), err)
		}
	}
	for name := range h.deleted {
		if _, err := s.Get(t.Context(), name, 0, -1); !errors.Is(err, objstore.ErrNotExist) {
			return fmt.Errorf("%s was deleted: %w", name, err)
		}
	}
	listed, err := s.List(t.Context(), "", "", 100)
	if err != nil {
		return err
	}
	for _, o := range listed { // whole objects only
		body, err := s.Get(t.Context(), o.Name, 0, -1)
		if err != nil {
			return err
		}
		if strings.ReplaceAll(string(body), o.Name, "") != "" || len(body)%(100*len(o.Name)) > 0 {
			return fmt.Errorf("%s holds %.40q of %d bytes", o.Name, body, len(body))
		}
	}
	return s.Create(t.Context(), "log/4", nil)
}

// TestCrash_keepsWhatWasStored cuts the power before each operation of the file system.
func TestCrash_keepsWhatWasStored(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := int64(0); ; n++ {
		ended := false
		for _, kept := range []crash.Kept{crash.None, crash.All, crash.Random, crash.Random + 1} {
			disk := memfs.NewCrashable()
			h := history{stored: map[string]object{}, deleted: map[string]bool{}}
			var left *memfs.FS
			var then history
			hook := func(op faultfs.Op) error {
				if op.Index == n {
					left, then = kept.Of(disk, rng), h.clone()
				}
				return nil
			}
			files := faultfs.New(disk, hook)
			h.work(t, opened(t, files, "store"), opened(t, files, "store"))
			if left == nil {
				left, then, ended = kept.Of(disk, rng), h, true
			}
			if err := then.verify(t, left); err != nil {
				t.Fatalf("crash before operation %d of the workload, %s kept (seed %d): %v", n, kept, seed,
					err)
			}
		}
		if ended {
			t.Logf("trust: %d crash points of folders as stores", 4*n)
			return
		}
	}
}

func (h *history) clone() history {
	c := history{stored: map[string]object{}, deleted: map[string]bool{}, current: h.current}
	for name, o := range h.stored {
		c.stored[name] = o
	}
	for name := range h.deleted {
		c.deleted[name] = true
	}
	return c
}

// liar is a disk that syncs no new file, and says that it does.
type liar struct{ vfs.FS }

func (l liar) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	return lyingFile{f}, err
}

type lyingFile struct{ vfs.File }

func (lyingFile) Sync() error { return nil }

// A disk that reports syncs without doing them must be caught, or the test above tests nothing.
func TestCrash_isCaughtOnADiskThatLies(t *testing.T) {
	disk := memfs.NewCrashable()
	h := history{stored: map[string]object{}, deleted: map[string]bool{}}
	liar := liar{disk}
	h.work(t, opened(t, liar, "store"), opened(t, liar, "store"))
	if h.verify(t, disk.CrashKeepNone()) == nil {
		t.Error("nobody notices that no file was synced")
	}
}
