package tuned

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/tools/salvage"
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

func TestBackupAndSalvage_reachAnyFileSystem(t *testing.T) {
	tiny := Sizes()[0]
	db, err := OpenMemory(nil, tiny)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if err := db.Put(fmt.Appendf(nil, "%d", n), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if db.Stats().Flushes == 0 {
		t.Error("the database in memory is not tuned")
	}
	disk := memfs.New()
	if err := Backup(t.Context(), db, disk, "copied", false); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	report, err := Salvage(t.Context(), disk, "copied", "salvaged", salvage.Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Entries != 100 || report.Lost() {
		t.Errorf("the report: %+v", report)
	}
}
