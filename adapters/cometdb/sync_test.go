package cometdb_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestSync cuts the power after one write, of which the disk keeps what was synced.
func TestSync(t *testing.T) {
	key := []byte("k")
	for _, c := range []struct {
		name  string
		write func(db database) error
		want  []byte
	}{
		{"Set", func(db database) error { return db.Set(key, []byte{1}) }, []byte{0}},
		{"SetSync", func(db database) error { return db.SetSync(key, []byte{1}) }, []byte{1}},
		{"Delete", func(db database) error { return db.Delete(key) }, []byte{0}},
		{"DeleteSync", func(db database) error { return db.DeleteSync(key) }, nil},
		{"Write", func(db database) error { return setIn(db.NewBatch()).Write() }, []byte{0}},
		{"WriteSync", func(db database) error { return setIn(db.NewBatch()).WriteSync() }, []byte{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := memfs.NewCrashable()
			db := openOn(t, disk)
			ok(t, db.SetSync(key, []byte{0}))
			ok(t, c.write(db))
			holds(t, openOn(t, disk.CrashKeepNone()), "k", c.want)
		})
	}
}

// setIn returns the batch with a write.
func setIn(b batch) batch {
	_ = b.Set([]byte("k"), []byte{1})
	return b
}

func openOn(t *testing.T, disk *memfs.FS) database {
	t.Helper()
	db, err := tuned.Open(disk, "db", &stoat.Options{Sync: stoat.SyncNever}, engine.Tuning{})
	ok(t, err)
	s := wrap(db)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}
