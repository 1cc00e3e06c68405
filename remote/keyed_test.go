package remote_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
)

// TestKey_refused wants neither a request nor a file.
func TestKey_refused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	opts := &stoat.Options{Key: make([]byte, 32)}
	_, err := remote.Open(t.Context(), nil, dir, &remote.Options{Database: opts})
	wantErr(t, err, errors.ErrUnsupported)
	_, err = remote.OpenReader(t.Context(), nil, dir, &remote.ReaderOptions{Database: opts})
	wantErr(t, err, errors.ErrUnsupported)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}
