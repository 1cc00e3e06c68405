package torture

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// fuzzOpened reads all of a database and writes to it, whatever its files contain.
func fuzzOpened(t *testing.T, db *stoat.DB, readOnly bool) {
	t.Helper()
	readErr := db.View(func(tx *stoat.Tx) error {
		last := []byte(nil)
		for key := range tx.Scan(stoat.Range{}) {
			if len(key) == 0 {
				t.Fatal("a key is empty")
			}
			last = bytes.Clone(key)
		}
		if last != nil {
			_, _ = tx.Get(last)
		}
		for name := range tx.Buckets() {
			if b, err := tx.Bucket(name); err == nil {
				for range b.Keys(stoat.Range{Reverse: true}) {
					continue
				}
			}
		}
		return tx.Err()
	})
	if readOnly {
		return
	}
	const key = "\xff\xff\xff\xffwritten"
	if err := db.Put([]byte(key), []byte("value")); err == nil && readErr == nil {
		if value, err := db.Get([]byte(key)); err != nil || string(value) != "value" {
			t.Fatalf("what was just put is %q, %v", value, err)
		}
	}
	_ = db.Flush()
}

// FuzzOpen opens databases with one file of any content. Nothing may panic or hang, and a read-only
// open must change nothing.
func FuzzOpen(f *testing.F) {
	var all []map[string][]byte
	for _, kept := range []string{"plain", "values-in-log", "pattern", "log", "expiry", "dropped"} {
		files := readFolder(f, filepath.Join(compatCurrent, kept, "db"))
		delete(files, "LOCK")
		for i, name := range slices.Sorted(maps.Keys(files)) {
			image := files[name]
			f.Add(uint8(len(all)), uint8(i), image)
			f.Add(uint8(len(all)), uint8(i), image[:len(image)/2])
			image = bytes.Clone(image)
			image[len(image)/3] ^= 1
			f.Add(uint8(len(all)), uint8(i), image)
		}
		all = append(all, files)
	}
	f.Fuzz(func(t *testing.T, which, file uint8, image []byte) {
		files := maps.Clone(all[int(which)%len(all)])
		names := slices.Sorted(maps.Keys(files))
		files[names[int(file)%len(names)]] = image
		disk := memfs.New()
		ok(t, disk.MkdirAll("db"))
		for name, data := range files {
			f, err := disk.Create("db/" + name)
			ok(t, err)
			if len(data) > 0 {
				_, err = f.WriteAt(data, 0)
				ok(t, err)
			}
			ok(t, f.Close())
		}
		tuning := engine.Tuning{Now: compatTime}
		if db, err := tuned.Open(disk, "db", &stoat.Options{ReadOnly: true}, tuning); err == nil {
			fuzzOpened(t, db, true)
			ok(t, db.Close())
		}
		for name, data := range files {
			if got := compatFiles(t, disk)[name]; !bytes.HasPrefix(data, got) ||
				len(bytes.Trim(data[len(got):], "\x00")) > 0 {
				t.Fatalf("reading has changed %s", name)
			}
		}
		if db, err := tuned.Open(disk, "db", nil, tuning); err == nil {
			fuzzOpened(t, db, false)
			_ = db.Close() // may fail for damage
		}
	})
}
