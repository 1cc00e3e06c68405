package tuned

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestOpen_tunesTheEngine(t *testing.T) {
	for i, size := range Sizes() {
		db, err := Open(memfs.New(), "db", &stoat.Options{Sync: stoat.SyncNever}, size)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 400 {
			if err := db.Put(fmt.Appendf(nil, "%d", n), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		flushes := db.Stats().Flushes
		if usual := size.MemtableBytes == 0 || size.MemtableBytes >= 256<<10; usual != (flushes == 0) {
			t.Errorf("size %d: %d flushes", i, flushes)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
