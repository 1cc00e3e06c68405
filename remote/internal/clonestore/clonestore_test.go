package clonestore

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStore_conforms(t *testing.T) {
	remotetest.Run(t, func(*testing.T) objstore.Store { return New(memstore.New(), memstore.New()) })
}

// put stores a file of an epoch.
func put(t *testing.T, store objstore.Store, epoch uint64, body string) (name string) {
	t.Helper()
	name = history.DataName(folder.Table, epoch<<history.EpochShift+1)
	ok(t, store.Put(t.Context(), name, bytes.NewReader([]byte(body)), int64(len(body))))
	return name
}

// wantRead wants each way to read an object to find it, or not if body is empty.
func wantRead(t *testing.T, s *Store, name, body string) {
	t.Helper()
	got, err := s.Get(t.Context(), name, 0, -1)
	var streamed bytes.Buffer
	_, streamErr := s.GetTo(t.Context(), name, 0, 100, &streamed)
	listed, listErr := s.List(t.Context(), name, "", 1)
	ok(t, listErr)
	if body == "" {
		if !errors.Is(err, objstore.ErrNotExist) || !errors.Is(streamErr, objstore.ErrNotExist) ||
			len(listed) > 0 {
			t.Errorf("%s is %q and %q: %v, %v, %v", name, got, &streamed, err, streamErr, listed)
		}
		return
	}
	if err != nil || streamErr != nil || string(got) != body || streamed.String() != body ||
		len(listed) != 1 || listed[0].Size != int64(len(body)) {
		t.Errorf("%s is %q and %q: %v, %v, %v", name, got, &streamed, err, streamErr, listed)
	}
}

func TestStore_readsWhatItsParentMayHave(t *testing.T) {
	own, parent := memstore.New(), memstore.New()
	s := New(own, parent)
	old, last, next := put(t, parent, 0, "old"), put(t, parent, 3, "last"), put(t, parent, 4, "other")
	for _, name := range []string{old, last, next} {
		wantRead(t, s, name, "")
	}
	s.most.Store(3)
	wantRead(t, s, old, "old")
	wantRead(t, s, last, "last")
	wantRead(t, s, next, "") // another file of this name is the clone's
	put(t, own, 4, "own")
	wantRead(t, s, next, "own")

	if all, err := s.List(t.Context(), "", "", 10); err != nil || len(all) != 1 {
		t.Errorf("the clone has %v: %v", all, err)
	}
	ok(t, s.Delete(t.Context(), []string{old, last}))
	wantRead(t, s, last, "last")
	put(t, s, 3, "last")
	ok(t, parent.Delete(t.Context(), []string{last, old}))
	wantRead(t, s, last, "last") // a copy
	wantRead(t, s, old, "")
}

// TestStore_asksAgainForWhatMayBeThere has a request fail in one of the stores, which says nothing
// about what that has.
func TestStore_asksAgainForWhatMayBeThere(t *testing.T) {
	failing := faultstore.NewServer(memstore.New()).Client(
		func(faultstore.Request) faultstore.Fate { return faultstore.Failed })
	name := history.DataName(folder.Table, 1)
	for what, s := range map[string]*Store{
		"own": New(failing, memstore.New()), "parent": New(memstore.New(), failing),
	} {
		s.most.Store(1)
		_, err := s.Get(t.Context(), name, 0, -1)
		_, streamErr := s.GetTo(t.Context(), name, 0, 100, new(bytes.Buffer))
		for _, err := range []error{err, streamErr} {
			if !errors.Is(err, faultstore.ErrFailed) || errors.Is(err, objstore.ErrNotExist) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestStore_asksAParentThatIsGoneOnce has a clone that was detached elsewhere, whose parent has not
// the file any more, or is gone, or does not answer.
func TestStore_asksAParentThatIsGoneOnce(t *testing.T) {
	for what, fate := range map[string]faultstore.Fate{
		"collected": faultstore.Answered, "gone": faultstore.Failed,
	} {
		own, requests := memstore.New(), 0
		parent := faultstore.NewServer(memstore.New()).Client(func(faultstore.Request) faultstore.Fate {
			requests++
			return fate
		})
		s := New(own, parent)
		s.most.Store(1)
		name := put(t, own, 1, "copied")
		for range 5 {
			got, err := s.Get(t.Context(), name, 0, -1)
			var streamed bytes.Buffer
			_, streamErr := s.GetTo(t.Context(), name, 0, 100, &streamed)
			if ok(t, errors.Join(err, streamErr)); string(got) != "copied" || streamed.String() != "copied" {
				t.Errorf("%s: read %q and %q", what, got, &streamed)
			}
		}
		if requests != 1 {
			t.Errorf("%s: the parent was asked %d times", what, requests)
		}
	}
	own := memstore.New()
	s := New(own, silent{memstore.New()})
	s.most.Store(1)
	name := put(t, own, 1, "copied")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, name, 0, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that is given up: %v", err)
	}
	wantRead(t, s, name, "copied")
}

// silent is a store that does not answer.
type silent struct{ objstore.Store }

// Get implements [objstore.Store].
func (silent) Get(ctx context.Context, _ string, _, _ int64) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A parent that has failed once is asked first again as soon as it has what the clone lacks.
func TestStore_asksItsParentAgainAfterAFailure(t *testing.T) {
	under, failed := memstore.New(), false
	parent := faultstore.NewServer(under).Client(func(faultstore.Request) faultstore.Fate {
		if !failed {
			failed = true
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	own := faultstore.NewServer(memstore.New()).Client(nil)
	s := New(own, parent)
	s.most.Store(1)
	name := put(t, under, 1, "lent")
	if _, err := s.Get(t.Context(), name, 0, -1); !errors.Is(err, faultstore.ErrFailed) {
		t.Errorf("while the parent fails: %v", err)
	}
	for range 5 {
		got, err := s.Get(t.Context(), name, 0, -1)
		if ok(t, err); string(got) != "lent" {
			t.Errorf("read %q", got)
		}
	}
	if n := own.Count(); n != 2 {
		t.Errorf("the store of the clone was asked %d times, and lacks the file", n)
	}
}
