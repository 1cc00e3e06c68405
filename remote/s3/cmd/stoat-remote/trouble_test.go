package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A store that is full, or refuses files, is tried without end, and nobody must wonder why.
func TestInit_saysWhyItWaits(t *testing.T) {
	dir, store := newDB(t, 1), t.TempDir()
	if err := os.WriteFile(filepath.Join(store, "data"), nil, 0o600); err != nil { // so no file fits
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer time.AfterFunc(time.Minute, interrupt).Stop()
		r := execute(ctx, "init", dir, store)
		if r.code != exitInterrupted || !strings.Contains(r.err, "still trying: ") {
			t.Errorf("exit code %d, and says %q", r.code, r.err)
		}
	})
}
