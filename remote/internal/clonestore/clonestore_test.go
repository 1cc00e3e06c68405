package clonestore

import (
	"bytes"
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
