package remote_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// A durability that there is not must not become one that promises less.
func TestDurability_mustBeKnown(t *testing.T) {
	store, dir := memstore.New(), filepath.Join(t.TempDir(), "db")
	wantRefused := func(what string, db *remote.DB, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "option Durability is 7") {
			t.Errorf("%s: the error is %v", what, err)
		}
		if db != nil {
			ok(t, db.Close())
		}
	}
	unknown := quick()
	unknown.Durability = 7
	db, err := remote.Open(t.Context(), store, dir, &unknown)
	wantRefused("Open", db, err)
	if objects, err := store.List(t.Context(), "", "", 1); err != nil || len(objects) > 0 {
		t.Errorf("the store has %v: %v", objects, err)
	}
	known := quick()
	db, err = remote.Open(t.Context(), store, dir+"-known", &known)
	ok(t, err)
	ok(t, db.Close())
	r, err := remote.OpenReader(t.Context(), store, "", nil)
	ok(t, err)
	db, err = r.TakeOver(t.Context(), dir+"-taken", &unknown)
	wantRefused("TakeOver", db, err)
	ok(t, r.Close())
}
