package torture

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// killedAfter returns the disk of a database in "db" that was killed after fn used it. Its manifest
// has edits.
func killedAfter(t testing.TB, fn func(db *stoat.DB)) *memfs.FS {
	t.Helper()
	disk := memfs.New()
	db, err := tuned.Open(disk, "db", &stoat.Options{Compression: stoat.CompressionNone},
		engine.Tuning{TableBytes: 1 << 10, BlockBytes: 200})
	ok(t, err)
	fn(db)
	killed := disk.CrashKeepAll()
	ok(t, db.Close())
	return killed
}

// fileNamed returns the one file of "db" of that kind.
func fileNamed(t testing.TB, fs vfs.FS, kind folder.Kind) named {
	t.Helper()
	for _, f := range filesIn(t, fs, "db") {
		if k, _ := folder.Parse(f.name); k == kind {
			return f
		}
	}
	t.Fatal("there is no such file")
	return named{}
}

// right returns how many keys of the root bucket have the right value.
func right(got, want *model.Bucket) (n int) {
	for _, e := range want.Scan("", "", false, 0) {
		if value, found := got.Get(e.Key); found && value == e.Value {
			n++
		}
	}
	return n
}

// histories returns killed databases by what was done with them.
func histories(t testing.TB) map[string]*memfs.FS {
	t.Helper()
	fill := func(db *stoat.DB, round int, keys ...int) {
		update(t, db, func(tx *stoat.Tx) {
			for _, k := range keys {
				ok(t, tx.Put(fmt.Appendf(nil, "key %02d", k), fmt.Appendf(nil, "value %d of %d", round, k)))
			}
		})
	}
	flushed := func(db *stoat.DB, round int, keys ...int) {
		fill(db, round, keys...)
		ok(t, db.Flush())
	}
	all := map[string]func(db *stoat.DB){
		"one flush": func(db *stoat.DB) { flushed(db, 0, 1, 2, 3) },
		"flushes": func(db *stoat.DB) {
			flushed(db, 0, 1, 5, 9)
			flushed(db, 1, 2, 5, 8)
			flushed(db, 2, 3, 5, 7)
		},
		"compacted": func(db *stoat.DB) {
			flushed(db, 0, 1, 5, 9)
			flushed(db, 1, 2, 5, 8)
			ok(t, db.Compact(t.Context()))
		},
		"compacted and flushed": func(db *stoat.DB) {
			flushed(db, 0, 1, 5, 9)
			flushed(db, 1, 2, 5, 8)
			ok(t, db.Compact(t.Context()))
			flushed(db, 2, 3, 5, 7)
			fill(db, 3, 4, 6)
		},
		"loaded": func(db *stoat.DB) {
			flushed(db, 0, 1, 5, 9)
			ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
				yield([]byte("loaded"), bytes.Repeat([]byte("x"), 3000))
			}))
		},
	}
	disks := make(map[string]*memfs.FS)
	for name, fn := range all {
		disks[name] = killedAfter(t, fn)
	}
	return disks
}

// A damaged manifest must not do more harm than a missing one.
func TestSalvage_savesAsMuchWithADamagedManifestAsWithoutOne(t *testing.T) {
	t.Parallel()
	damaged := 0
	for name, disk := range histories(t) {
		want := dumped(t, disk.CrashKeepAll())
		whole := fileNamed(t, disk, folder.Manifest)
		copied := fileNamed(t, disk, folder.ManifestCopy)
		var frames []int64
		ok(t, manifest.Walk(whole.data, func(f manifest.Frame) error {
			frames = append(frames, f.At)
			return nil
		}))
		if len(frames) < 2 {
			t.Fatalf("%s: the manifest has no edits", name)
		}
		// salvaged returns how many keys are right, and how many there are, with these files as the
		// manifest and its copy.
		salvaged := func(manifest, copied []byte, of named) (int, int, *stoat.SalvageReport) {
			fs := disk.CrashKeepAll()
			exchange(t, fs, filepath.Join("db", whole.name), manifest)
			exchange(t, fs, filepath.Join("db", of.name), copied)
			db, report := salvageTo(t, fs, "new")
			got, err := dumpDB(db)
			ok(t, err)
			damaged++
			return right(got, want), got.Len(), report
		}
		least, fewest, _ := salvaged(nil, nil, copied)
		all := len(want.Scan("", "", false, 0))
		first := copied.data[:frames[1]]
		for i, at := range frames {
			flip := bytes.Clone(whole.data)
			flip[at+3] ^= 1
			for what, image := range map[string][]byte{
				"flipped in": flip, "cut in": whole.data[:at+3], "cut before": whole.data[:at],
			} {
				for how, other := range map[string][]byte{
					"no": nil, "an old": first, "a torn": copied.data[:at+1], "a good": copied.data,
				} {
					n, found, report := salvaged(image, other, copied)
					// A cut between edits leaves no trace. Tables that the manifest does not know then count as
					// the oldest.
					if found < fewest || n < least && what != "cut before" || n < all && how == "a good" {
						t.Errorf("%s: %s frame %d of %d, %s copy: %d of %d are right, %d without a manifest"+
							"\n%+v", name, what, i, len(frames), how, n, all, least, report)
					}
					if n < all && !report.Lost() {
						t.Errorf("%s: %s frame %d of %d, %s copy: nothing is said of it", name, what, i,
							len(frames), how)
					}
				}
			}
		}
	}
	t.Logf("trust: %d damaged manifests", damaged)
}
