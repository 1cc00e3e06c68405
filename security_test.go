package stoat_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// logText is a log in memory. Safe for concurrent use.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestLogger_isToldNoKeysAndNoValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	log := new(logText)
	opts := &stoat.Options{
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	db := openDir(t, dir, opts)
	for range 3 {
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.CreateBucketIfNotExists([]byte("secret bucket"))
			ok(t, err)
			ok(t, b.Put([]byte("secret key"), []byte("secret value")))
			ok(t, tx.DeleteRange(stoat.Range{Start: []byte("secret start"), End: []byte("secret x")}))
		})
		ok(t, db.Flush())
	}
	ok(t, db.Compact(context.Background()))
	ok(t, db.Close())
	damageTables(t, dir)
	db = openDir(t, dir, opts)
	ok(t, db.Put([]byte("secret other"), []byte("secret value")))
	wantErr(t, db.Compact(context.Background()), stoat.ErrCorrupt)
	ok(t, db.Close())
	text := log.String()
	for _, want := range []string{"flushed", "compacted"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing is said of %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("a key or value is in the log:\n%s", text)
	}
}

// damageTables changes a byte in the first value block of each table.
func damageTables(t testing.TB, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.table"))
	ok(t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		ok(t, err)
		data[60] ^= 1
		ok(t, os.WriteFile(name, data, 0o600))
	}
}
