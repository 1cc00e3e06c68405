package machine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// nobody is the number of a process that cannot be.
const nobody = 1<<31 - 1

func TestRemoveCap_removesWhatADeadProcessLeft(t *testing.T) {
	if err := RemoveCap(nobody); err != nil {
		t.Errorf("with nothing to remove: %v", err)
	}
	lift, err := CapMemory(64 << 20)
	if errors.Is(err, ErrNoCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies() {
		if err := os.Mkdir(h.group(nobody), 0o755); err != nil {
			continue
		}
		if err := RemoveCap(nobody); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.group(nobody)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", h.group(nobody), err)
		}
	}
}

func TestCheckCached_findsPagesThatTheCapDoesNotCover(t *testing.T) {
	const limit, size = 64 << 20, 160 << 20
	dir := t.TempDir()
	if FileSystem(dir) == "tmpfs" {
		t.Skip("files in tmpfs are always in memory")
	}
	path := filepath.Join(dir, "large")
	read := func() {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		buf := make([]byte, 1<<20)
		for range size / len(buf) {
			if _, err := io.ReadFull(f, buf); err != nil {
				t.Fatal(err)
			}
		}
	}
	lift, err := CapMemory(limit)
	if errors.Is(err, ErrNoCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeErr := os.WriteFile(path, make([]byte, size), 0o600)
	if err := DropCache(dir); err != nil {
		t.Error(err)
	}
	if n, err := cachedBytes(path); err != nil || n > size/8 {
		t.Errorf("%d bytes of the file are in memory after dropping them: %v", n, err)
	}
	read()
	if err := CheckCached(dir, limit); err != nil {
		t.Errorf("after reading with the cap: %v", err)
	}
	if err := errors.Join(writeErr, lift()); err != nil {
		t.Fatal(err)
	}
	read()
	if n, err := cachedBytes(path); err != nil || n == 0 {
		t.Skipf("the system does not tell: %v", err)
	}
	if CheckCached(dir, limit) == nil {
		t.Error("no error after reading without the cap")
	}
}
