package torture

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// lyingVersion returns v with one number or a table's keys changed, and whether there is such a
// field.
func lyingVersion(v *manifest.Version, field, item uint8, n uint64, first, last []byte) bool {
	numbers := []*uint64{&v.LogNumber, &v.LastCommit, &v.NextNumber, &v.DropEpoch}
	var tables []*manifest.Table
	for t := range v.Tables() {
		tables = append(tables, t)
	}
	if len(tables) > 0 {
		t := tables[int(item)%len(tables)]
		numbers = append(numbers, &t.Number, &t.Size, &t.Entries, &t.Tombstones, &t.RawBytes,
			&t.DropEpoch, &t.StaleAt)
		for i := range t.Values {
			numbers = append(numbers, &t.Values[i].File, &t.Values[i].Count, &t.Values[i].Bytes)
		}
		for i := range t.Buckets {
			b := &t.Buckets[i]
			numbers = append(numbers, &b.Bucket, &b.Entries, &b.Bytes, &b.Stored, &b.Zstd, &b.Pattern)
		}
		for i := range t.Dictionaries {
			numbers = append(numbers, &t.Dictionaries[i])
		}
		if int(field) == len(numbers) {
			t.Smallest, t.Largest = first, last
			return true
		}
	}
	for i := range v.ValueFiles {
		numbers = append(numbers, &v.ValueFiles[i].Number, &v.ValueFiles[i].Size)
	}
	for i := range v.Dictionaries {
		d := &v.Dictionaries[i]
		numbers = append(numbers, &d.Number, &d.Bucket, &d.Fit)
	}
	if int(field) >= len(numbers) {
		return false
	}
	*numbers[field] = n
	return true
}

// FuzzOpen_lyingManifest opens databases whose manifest has valid checksums but lies about the
// files. Nothing may panic or hang.
func FuzzOpen_lyingManifest(f *testing.F) {
	kept := []string{"plain", "values-in-log", "values-in-files", "pattern", "dropped", "young-runs"}
	for i := range kept {
		for field := range uint8(20) {
			f.Add(uint8(i), field, field, uint64(1)<<(field%64), []byte("\x10a"), []byte("\x10b"))
			f.Add(uint8(i), field, uint8(0), ^uint64(0), []byte{}, []byte("\xff"))
			f.Add(uint8(i), field, uint8(1), uint64(0), []byte("\x10k"), []byte("\x10l"))
		}
	}
	f.Fuzz(func(t *testing.T, which, field, item uint8, n uint64, first, last []byte) {
		files := readFolder(t, filepath.Join(compatCurrent, kept[int(which)%len(kept)], "db"))
		disk := memfs.New()
		ok(t, disk.MkdirAll("db"))
		for name, data := range files {
			file, err := disk.Create("db/" + name)
			ok(t, err)
			_, err = file.WriteAt(data, 0)
			ok(t, err)
			ok(t, file.Close())
		}
		state, err := manifest.Load(disk, "db")
		ok(t, err)
		if !lyingVersion(state.Version, field, item, n, slices.Clone(first), slices.Clone(last)) {
			return
		}
		j, err := manifest.Create(disk, "db", state.Number+1000, state.Database, state.Version)
		if err != nil { // it is refused
			return
		}
		ok(t, j.Close())
		for _, readOnly := range []bool{true, false} {
			tuning := engine.Tuning{Now: compatTime}
			db, err := tuned.Open(disk, "db", &stoat.Options{ReadOnly: readOnly}, tuning)
			if err != nil {
				continue
			}
			fuzzOpened(t, db, readOnly)
			_ = db.Close() // may fail for damage
		}
	})
}
