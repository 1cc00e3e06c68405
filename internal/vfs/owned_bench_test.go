package vfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

// BenchmarkOwned measures what a durable commit pays for knowing that the folder, its lock and its
// log are still what they were.
func BenchmarkOwned(b *testing.B) {
	s := system{vfs.OS(), b.TempDir()}
	ok(b, os.WriteFile(filepath.Join(s.dir, "LOCK"), nil, 0o600))
	folder := s.open(b)
	lock, err := folder.Lock(s.path("LOCK"))
	ok(b, err)
	defer lock.Close()
	log, err := folder.Create(s.path("log"))
	ok(b, err)
	defer log.Close()
	b.ReportAllocs()
	for b.Loop() {
		if vfs.Owned(folder, lock) != nil || log.Named() != nil {
			b.Fatal("replaced")
		}
	}
}
