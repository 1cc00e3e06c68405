package remote_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestKey_refused wants neither requests nor files of who gives a key.
func TestKey_refused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	opts := &stoat.Options{Key: make([]byte, 32)}
	_, err := remote.Open(t.Context(), nil, dir, &remote.Options{Database: opts})
	wantErr(t, err, errors.ErrUnsupported)
	_, err = remote.OpenReader(t.Context(), nil, dir, &remote.ReaderOptions{Database: opts})
	wantErr(t, err, errors.ErrUnsupported)
	store := memstore.New()
	ok(t, mustOpen(t, store, memfs.New()).Close())
	r := mustRead(t, store)
	_, err = r.TakeOver(t.Context(), dir, &remote.Options{Database: opts})
	wantErr(t, err, errors.ErrUnsupported)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}
