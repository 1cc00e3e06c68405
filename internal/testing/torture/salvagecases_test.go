package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// smallDatabase creates a closed database in the folder "db" with n keys each in the root bucket,
// in a bucket and in a nested bucket, and some large values.
func smallDatabase(t testing.TB, fs vfs.FS, n int) {
	t.Helper()
	db, err := tuned.Open(fs, "db", &stoat.Options{ValueThreshold: 200}, engine.Tuning{
		TableBytes: 2 << 10, BlockBytes: 400, ValueBytes: 4 << 10,
	})
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) {
		outer := create(t, tx, "outer")
		inner := create(t, outer, "inner")
		for i := range n {
			key := fmt.Appendf(nil, "key %04d", i)
			ok(t, tx.Put(key, fmt.Appendf(nil, "value %d", i)))
			noise := make([]byte, 150+i%100) // goes outside of tables from 200 bytes on
			_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
			ok(t, outer.Put(key, noise))
			ok(t, inner.Put(key, nil))
		}
		ok(t, inner.SetSequence(7))
	})
	ok(t, db.Flush())
	ok(t, db.Close())
}

// filesLike returns the files of "db" whose names have the suffix.
func filesLike(t testing.TB, fs vfs.FS, suffix string) (all []named) {
	t.Helper()
	for _, f := range filesIn(t, fs, "db") {
		if strings.HasSuffix(f.name, suffix) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no file *%s", suffix)
	}
	return all
}

// salvageTo salvages "db" to dst and returns the new database, open, and the report.
func salvageTo(t testing.TB, fs vfs.FS, dst string) (*stoat.DB, *stoat.SalvageReport) {
	t.Helper()
	report, err := tuned.Salvage(context.Background(), fs, "db", dst, salvageSizes())
	ok(t, err)
	db, err := tuned.Open(fs, dst, nil, engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db, report
}

func TestSalvage_takesTheCopyOfADamagedManifest(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 50)
	want := dumped(t, fs)
	for _, f := range filesIn(t, fs, "db") {
		if strings.HasPrefix(f.name, "MANIFEST") && !strings.HasSuffix(f.name, ".copy") {
			copied := filepath.Join("db", f.name+".copy")
			if file, err := fs.Create(copied); err == nil {
				ok(t, file.Close())
			}
			exchange(t, fs, copied, f.data)
			f.data[len(f.data)/2] ^= 1
			exchange(t, fs, filepath.Join("db", f.name), f.data)
		}
	}
	db, report := salvageTo(t, fs, "new")
	got, err := dumpDB(db)
	ok(t, err)
	equal(t, model.Diff(got, want), "")
	if report.Lost() || len(report.Problems) == 0 || !strings.HasSuffix(report.Manifest, ".copy") {
		t.Errorf("the report: %+v", report)
	}
}

// dumped returns the contents of "db".
func dumped(t testing.TB, fs vfs.FS) *model.Bucket {
	t.Helper()
	db := openOn(t, fs, &stoat.Options{ReadOnly: true})
	all, err := dumpDB(db)
	ok(t, errors.Join(err, db.Close()))
	return all
}

func TestSalvage_givesDataWithoutANameABucket(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 50)
	want := dumped(t, fs)
	// The catalog sorts first: it is in the smallest table, which has the smallest keys.
	catalog := slices.MinFunc(filesLike(t, fs, ".table"), func(a, b named) int {
		return len(a.data) - len(b.data)
	})
	exchange(t, fs, filepath.Join("db", catalog.name), nil)
	db, report := salvageTo(t, fs, "new")
	equalKeys(t, report.Buckets, []string{"lost-1", "lost-2"})
	got, err := dumpDB(db)
	ok(t, err)
	for name, old := range map[string]*model.Bucket{
		"lost-1": want.Bucket("outer"), "lost-2": want.Bucket("outer").Bucket("inner"),
	} {
		if !slices.Equal(got.Bucket(name).Scan("", "", false, 0), old.Scan("", "", false, 0)) {
			t.Errorf("%s does not hold what it should", name)
		}
	}
	ok(t, idIsNew(db))
}

func TestSalvage_listsTheKeysOfLostValues(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 100)
	f := filesLike(t, fs, ".values")[0]
	f.data[len(f.data)/2] ^= 1
	exchange(t, fs, filepath.Join("db", f.name), f.data)
	db, report := salvageTo(t, fs, "new")
	if report.Values != 1 || len(report.Keys) != 1 || len(report.Ranges) > 0 || report.Older {
		t.Fatalf("the report: %+v", report)
	}
	lost := report.Keys[0]
	equalKeys(t, lost.Bucket, []string{"outer"})
	view(t, db, func(tx *stoat.Tx) {
		_, err := bucket(t, tx, "outer").Get(lost.Key)
		wantErr(t, err, stoat.ErrNotFound)
		_, err = tx.Get(lost.Key)
		ok(t, err)
	})
	equal(t, report.Entries, uint64(299))
}

func TestSalvage_doesWithoutAManifest(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 60)
	want := dumped(t, fs)
	for _, f := range filesIn(t, fs, "db") {
		if strings.HasPrefix(f.name, "MANIFEST") {
			exchange(t, fs, filepath.Join("db", f.name), nil)
		}
	}
	db, report := salvageTo(t, fs, "new")
	got, err := dumpDB(db)
	ok(t, err)
	if d := model.Diff(got, want); d != "" && report.Values == 0 {
		t.Error(d)
	}
	if report.Manifest != "" || !report.Older {
		t.Errorf("the report: %+v", report)
	}
}

func TestSalvage_losesOnlyTheTransactionThatIsDamaged(t *testing.T) {
	const n = 9
	fs := memfs.New()
	db := openOn(t, fs, nil)
	for i := range n {
		ok(t, db.Put([]byte{'k', byte('0' + i)}, bytes.Repeat([]byte{byte('a' + i)}, 50)))
	}
	killed := fs.CrashKeepAll()
	ok(t, db.Close())
	log := filesLike(t, killed, ".log")[0]
	at := bytes.Index(log.data, bytes.Repeat([]byte{'e'}, 50))
	log.data[at] ^= 1
	exchange(t, killed, filepath.Join("db", log.name), log.data)
	db, report := salvageTo(t, killed, "new")
	if report.Transactions != 1 || report.Entries != n-1 || !report.Older {
		t.Errorf("the report: %+v", report)
	}
	for i := range n {
		value, err := db.Get([]byte{'k', byte('0' + i)})
		if i == 4 {
			wantErr(t, err, stoat.ErrNotFound)
			continue
		}
		ok(t, err)
		equal(t, string(value), strings.Repeat(string(rune('a'+i)), 50))
	}
}

func TestSalvage_noticesAMissingLog(t *testing.T) {
	noTables := func(op faultfs.Op) error { // prevents flushes
		if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
			return errors.New("broken")
		}
		return nil
	}
	disk := memfs.New()
	for range 2 {
		db := openOn(t, faultfs.New(disk, noTables), nil)
		ok(t, db.Put([]byte("key"), []byte("value")))
		killed := disk.CrashKeepAll()
		if err := db.Close(); err == nil {
			t.Fatal("the database was flushed")
		}
		disk = killed
	}
	logs := filesLike(t, disk, ".log")
	equal(t, len(logs), 2)
	exchange(t, disk, filepath.Join("db", logs[0].name), nil)
	_, report := salvageTo(t, disk, "new")
	if report.Transactions != 1 || !report.Older {
		t.Errorf("the report: %+v", report)
	}
}

func TestSalvage_namesTheRangeOfADamagedBlock(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 100)
	want := dumped(t, fs)
	damaged := 0
	for _, f := range filesLike(t, fs, ".table") {
		at := bytes.LastIndex(f.data, []byte("key 00"))
		if at < 0 {
			continue
		}
		f.data[at] ^= 1
		exchange(t, fs, filepath.Join("db", f.name), f.data)
		damaged++
	}
	db, report := salvageTo(t, fs, "new")
	if damaged == 0 || len(report.Ranges) == 0 || report.Older || !report.Lost() {
		t.Fatalf("%d tables are damaged; the report: %+v", damaged, report)
	}
	got, err := dumpDB(db)
	ok(t, err)
	ok(t, newVerdict(got, report).isNewest(nil, got, want))
}

func TestSalvage_endsWithItsContext(t *testing.T) {
	fs := memfs.New()
	smallDatabase(t, fs, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tuned.Salvage(ctx, fs, "db", "new", salvageSizes())
	wantErr(t, err, context.Canceled)
	if names, _ := fs.List("new"); len(names) > 0 {
		t.Errorf("%q stay", names)
	}
}

func TestSalvage_leavesNothingWhenItFails(t *testing.T) {
	source := memfs.New()
	smallDatabase(t, source, 40)
	before := filesIn(t, source, "db")
	points := 0
	for n := int64(0); ; n++ {
		disk := source.CrashKeepAll()
		failed := false
		fs := faultfs.New(disk, func(op faultfs.Op) error {
			failed = failed || op.Index == n
			if op.Index == n && op.Kind.Mutates() {
				return errors.New("broken")
			}
			return nil
		})
		_, err := tuned.Salvage(context.Background(), fs, "db", "new", salvageSizes())
		if !failed {
			ok(t, err)
			break
		}
		if !slices.EqualFunc(before, filesIn(t, disk, "db"), named.equal) {
			t.Fatalf("operation %d: the source has changed", n)
		}
		if err == nil {
			continue
		}
		points++
		if names, _ := disk.List("new"); len(names) > 0 {
			t.Fatalf("operation %d: %q stay after %v", n, names, err)
		}
	}
	t.Logf("trust: %d fault points", points)
}

func FuzzSalvage(f *testing.F) {
	source := memfs.New()
	smallDatabase(f, source, 60)
	files := filesIn(f, source, "db")
	for i := range files {
		f.Add(byte(i), uint16(60), []byte("damage"), byte(i+1), uint16(8))
	}
	f.Fuzz(func(t *testing.T, file byte, at uint16, p []byte, cut byte, length uint16) {
		disk := source.CrashKeepAll()
		hit := files[int(file)%len(files)]
		data := bytes.Clone(hit.data)
		data = append(data, make([]byte, max(0, min(int(at), 2*len(data))+len(p)-len(data)))...)
		copy(data[min(int(at), len(data)):], p)
		exchange(t, disk, filepath.Join("db", hit.name), data)
		if short := files[int(cut)%len(files)]; int(length) < len(short.data) && cut%3 == 0 {
			exchange(t, disk, filepath.Join("db", short.name), short.data[:length])
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report, err := tuned.Salvage(context.Background(), disk, "db", "new", salvageSizes())
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%d bytes were allocated", n)
		}
		if err == nil && report.Entries > 180 {
			t.Errorf("%d keys were made of 180", report.Entries)
		}
	})
}
