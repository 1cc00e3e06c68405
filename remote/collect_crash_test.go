package remote_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// pinned is the log objects that are pinned, by the names of the pins.
type pinned map[string]pastAt

// pastAt is a log object, and the transaction after which the database was there.
type pastAt struct {
	object      uint64
	transaction int
}

// check wants all pinned pasts to be there still, and adds and removes pins.
func (p pinned) check(t *testing.T, h *history, server *faultstore.Server) {
	t.Helper()
	store := server.Client(nil)
	for name, at := range p {
		number, err := h.check(restored(t, past{store, at.object}))
		if err == nil && number != at.transaction {
			err = fmt.Errorf("it was at transaction %d, and is now at %d", at.transaction, number)
		}
		if err != nil {
			t.Fatalf("pin %s of log object %d: %v", name, at.object, err)
		}
		if h.rng.IntN(3) == 0 {
			ok(t, remote.Unpin(t.Context(), store, name))
			delete(p, name)
		}
	}
	if h.rng.IntN(2) == 0 {
		name := fmt.Sprintf("pin-%d", len(h.states))
		if _, err := remote.Pin(t.Context(), store, name); err != nil {
			return // a late request may have got in between
		}
		all, err := logOf(t, store).Pins(t.Context())
		ok(t, err)
		for _, pin := range all {
			if pin.Name == name {
				number, err := h.check(restored(t, past{store, pin.Number}))
				ok(t, err)
				p[name] = pastAt{pin.Number, number}
			}
		}
	}
}

// wantNoLeftovers wants a writer to delete all that a history of crashes has left, but for what the
// newest version names.
func wantNoLeftovers(t *testing.T, h *history, server *faultstore.Server) {
	t.Helper()
	for server.UnderWay() > 0 {
		ok(t, server.Deliver(0))
	}
	store := server.Client(nil)
	pins, err := remote.Pins(t.Context(), store)
	ok(t, err)
	for _, pin := range pins {
		ok(t, remote.Unpin(t.Context(), store, pin.Name))
	}
	db, err := open(t, store, memfs.New(), forgetful(), engine.Tuning{})
	ok(t, err)
	number, err := h.check(db.DB)
	ok(t, err)
	h.states = h.states[:number+1]
	busy(t, h, db, 1)
	collectAll(t, db)
	ok(t, db.Close())
	end, err := logOf(t, store).End(t.Context())
	ok(t, err)
	for _, name := range unnamed(t, store, end) {
		// One may be of a version that was on its way when the database was closed. The log that
		// restoring has made has a number of the claim before.
		if _, number, _ := storelog.ParseData(name); number>>36 < end.Epoch-1 {
			t.Errorf("%s is left, and the version does not name it", name)
		}
	}
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

// unnamed returns the files in a store that a state does not name, not even as retired.
func unnamed(t testing.TB, store objstore.Store, s *object.State) (left []string) {
	t.Helper()
	for _, name := range names(t, store, "data/") {
		kind, number, _ := storelog.ParseData(name)
		_, isValues := s.Version.ValueFile(number)
		if !isValues && (kind != folder.Table || !s.Version.TableNumbers()[number]) &&
			!slices.ContainsFunc(s.Retired, func(r object.Retired) bool { return r.File == number }) {
			left = append(left, name)
		}
	}
	return left
}
