package browser

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio"
)

func TestPage_saysWhichValueIsDamaged(t *testing.T) {
	t.Parallel()
	h, err := studio.Follow(damaged(t), nil, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, h.Close()) })
	w := visit(t, serve(t, h))
	w.click("Keys of the root")
	w.shows("fine", "2 keys; these are all")
	cells := `[...document.querySelectorAll('[data-id] td')].map((cell) => cell.innerText)`
	got := await[[]string](w, cells)
	if !strings.Contains(got[0], "checksum") || got[1] != "" ||
		got[2] != "fine" || got[3] != "4 B" {
		t.Errorf("the rows are %q", got)
	}
	w.fits("the error of a value")
}

// damaged returns the folder of a database in which the value of the key "a" is damaged.
func damaged(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	value := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, errors.Join(db.Put([]byte("a"), value), db.Put([]byte("b"), []byte("fine"))))
	ok(t, errors.Join(db.Compact(context.Background()), db.Close()))
	entries, err := os.ReadDir(dir)
	ok(t, err)
	found := false
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		content, err := os.ReadFile(name)
		ok(t, err)
		if at := bytes.Index(content, value[:100]); at >= 0 {
			content[at] ^= 1
			ok(t, os.WriteFile(name, content, 0o600))
			found = true
		}
	}
	if !found {
		t.Fatal("no file has the value")
	}
	return dir
}
