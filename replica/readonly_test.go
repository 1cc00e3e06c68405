package replica

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// A replica whose database is read-only gives what it has. If the peer has something for it, both
// sides say why the session ends, and the replica what to do.
func TestSync_ofAReadOnlyDatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	a := newPeerIn(t, dir)
	b := newPeer(t, a)
	a.allow()
	a.put(task{ID: 1, Title: "both"})
	must(t, syncBoth(a, b))
	a.put(task{ID: 2, Title: "new"})
	must(t, a.space.Seal())
	must(t, a.db.Close())
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	space, err := Open(db, "team", a.options())
	must(t, err)
	reader := &peer{t: t, db: db, space: space}
	for range 2 {
		must(t, syncBoth(reader, b))
	}
	agree(t, reader, b)
	b.put(task{ID: 3})
	here, there := syncSides(reader, b)
	if !errors.Is(here, stoat.ErrReadOnly) || !strings.Contains(here.Error(), "Export") {
		t.Errorf("here: %v", here)
	}
	if !errors.Is(there, ErrEnded) || !strings.Contains(there.Error(), "read-only") {
		t.Errorf("there: %v", there)
	}
	server := b.web(nil)
	if err := Post(t.Context(), space, server.URL, nil); !errors.Is(err, stoat.ErrReadOnly) ||
		!strings.Contains(err.Error(), "Export") {
		t.Errorf("post: %v", err)
	}
	err = Post(t.Context(), b.space, reader.web(nil).URL, nil)
	if err == nil || !strings.Contains(err.Error(), "its database is read-only") {
		t.Errorf("post to it: %v", err)
	}
}
