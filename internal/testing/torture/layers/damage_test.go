package layers

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// damage changes the raw bucket of a layer. The named checks must notice it.
type damage struct {
	name   string
	path   []string // of the bucket
	do     func(b *stoat.Bucket) error
	notice map[string]bool // names of checks
}

// noticed damages copies of a database. The checks that a damage names must notice it, and so must
// find. The function checks returns what each check, by its name, has found in a database.
func noticed[S state[S]](
	t *testing.T, disk *memfs.FS, w workload[S], is S, damages []damage,
	checks func(db *stoat.DB) map[string]error,
) {
	t.Helper()
	db := openOn(t, disk.CrashKeepAll())
	if _, err := w.find(db, []S{is}); err != nil {
		t.Fatalf("without damage: %v", err)
	}
	for name, err := range checks(db) {
		if err != nil {
			t.Fatalf("without damage, %s: %v", name, err)
		}
	}
	ok(t, db.Close())
	for _, d := range damages {
		db := openOn(t, disk.CrashKeepAll())
		ok(t, db.Update(func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte(d.path[0]))
			for _, name := range d.path[1:] {
				if err == nil {
					b, err = b.Bucket([]byte(name))
				}
			}
			if err != nil {
				return err
			}
			return d.do(b)
		}))
		if _, err := w.find(db, []S{is}); err == nil {
			t.Errorf("%s: nobody has noticed", d.name)
		}
		for name, err := range checks(db) {
			if d.notice[name] && err == nil {
				t.Errorf("%s: %s has not noticed", d.name, name)
			}
			delete(d.notice, name)
		}
		if len(d.notice) > 0 {
			t.Errorf("%s: there are no checks %v", d.name, d.notice)
		}
		ok(t, db.Close())
	}
}

func names(all ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range all {
		set[name] = true
	}
	return set
}

// removeFirst removes the first pair of a bucket.
func removeFirst(b *stoat.Bucket) error {
	for key := range b.Keys(stoat.Range{Limit: 1}) {
		return b.Delete(key)
	}
	return stoat.ErrNotFound
}

func put(key, value string) func(b *stoat.Bucket) error {
	return func(b *stoat.Bucket) error { return b.Put([]byte(key), []byte(value)) }
}

func openOn(t *testing.T, fs vfs.FS) *stoat.DB {
	t.Helper()
	db, err := tuned.Open(fs, "db", nil, engine.Tuning{})
	ok(t, err)
	return db
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
