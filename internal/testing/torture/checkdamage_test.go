package torture

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// varied makes small databases with files of all kinds.
var (
	variedOptions = stoat.Options{ValueThreshold: 600}
	varied        = engine.Tuning{
		MemtableBytes: 1 << 20, TableBytes: 4 << 10, BlockBytes: 512, SampleBytes: 2 << 10,
		YoungRuns: 100, IdleAfter: 1 << 40, RestAfter: 1 << 40, ValueBytes: 2 << 10, Garbage: 1 << 40,
	}
)

// variedDB returns an open database with a log, young tables and tables of the bottom run. Between
// them, these have filters, dictionaries, compressed blocks, value files, and pointers into log
// segments.
func variedDB(t testing.TB, disk *memfs.FS) *stoat.DB {
	t.Helper()
	db, err := tuned.Open(disk, "db", &variedOptions, varied)
	ok(t, err)
	p := newGenerator(1, nil)
	random := func(n int) (value []byte) {
		for len(value) < n {
			value = append(value, byte(p.rng.Uint32()))
		}
		return value
	}
	fill := func(from, step int) {
		update(t, db, func(tx *stoat.Tx) {
			for _, name := range []string{"events", "words", "large"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				ok(t, err)
				for i := from; i < 40; i += step {
					value := []byte(p.event(name))
					switch name {
					case "words":
						value = bytes.Repeat([]byte{byte('a' + i)}, 100)
					case "large":
						value = random(610)
					}
					ok(t, b.Put(fmt.Append(nil, "key ", i), value))
				}
			}
		})
	}
	fill(0, 1)
	ok(t, db.Compact(t.Context()))
	fill(3, 9)
	update(t, db, func(tx *stoat.Tx) { ok(t, bucket(t, tx, "words").Delete([]byte("key 5"))) })
	ok(t, db.Flush())
	fill(2, 11)
	return db
}

// contentOf returns the contents of a file of the database.
func contentOf(t testing.TB, files vfs.FS, name string) []byte {
	t.Helper()
	f, err := files.Open(filepath.Join("db", name))
	ok(t, err)
	defer f.Close()
	size, err := f.Size()
	ok(t, err)
	p := make([]byte, size)
	_, err = f.ReadAt(p, 0)
	if len(p) > 0 {
		ok(t, err)
	}
	return p
}

// replace replaces a file of the database, or removes it if content is nil. Open handles keep the
// old file.
func replace(t testing.TB, files vfs.FS, name string, content []byte) {
	t.Helper()
	path := filepath.Join("db", name)
	_ = files.Remove(path) // it may be new
	if content == nil {
		return
	}
	f, err := files.Create(path)
	ok(t, err)
	_, err = f.WriteAt(content, 0)
	ok(t, err)
	ok(t, f.Close())
}

// findings returns the errors that a check has joined.
func findings(err error) []error {
	if joined, many := err.(interface{ Unwrap() []error }); many {
		return joined.Unwrap()
	}
	return nil
}

// wantFinding expects a check to find one problem, in this file, described with these words.
func wantFinding(t testing.TB, err error, name, words string) {
	t.Helper()
	wantErr(t, err, stoat.ErrCorrupt)
	all := findings(err)
	if len(all) != 1 || !strings.Contains(all[0].Error(), filepath.Join("db", name)+" at offset") ||
		!strings.Contains(all[0].Error(), words) {
		t.Fatalf("the check finds: %v\nwant %q in %s, once", err, words, name)
	}
}

// TestCheck_findsEveryFlippedByte flips bytes in the files of an open database, one at a time, and
// knows how many of them nothing points to.
func TestCheck_findsEveryFlippedByte(t *testing.T) {
	t.Parallel()
	disk := memfs.New()
	db := variedDB(t, disk)
	ok(t, db.Check(t.Context()))
	state, err := manifest.Load(disk, "db")
	ok(t, err)
	idle := idleBytes(t, disk, state.Version)
	names, err := disk.List("db")
	ok(t, err)
	flips, kinds := 0, map[string]int{}
	for _, name := range names {
		whole := contentOf(t, disk, name)
		written := len(bytes.TrimRight(whole, "\x00")) // preallocated space is zero
		unused, outside := idle[name]
		kind := filepath.Ext(name)
		step := max(1, written/150) * stride(5)
		if outside && kinds[kind] == 0 {
			step = stride(7) // each one, to count those that nothing points to
		}
		kinds[kind]++
		unnoticed := 0
		for at := 0; at < written && name != "LOCK"; at += step {
			p := bytes.Clone(whole)
			p[at] ^= 1 << (at % 8)
			if p[at] == 0 && kind == ".copy" {
				continue // a crash can leave this
			}
			replace(t, disk, name, p)
			flips++
			err := db.Check(t.Context())
			if err == nil && outside {
				unnoticed++
			} else if len(findings(err)) != 1 || !strings.Contains(err.Error(), name) {
				t.Fatalf("byte %d of %s is flipped, and the check finds: %v", at, name, err)
			}
		}
		replace(t, disk, name, whole)
		if unnoticed != unused && step == 1 {
			t.Errorf("%d bytes of %s could be flipped unnoticed, want %d", unnoticed, name, unused)
		}
	}
	if kinds[".table"] < 3 || kinds[".values"] == 0 || kinds[".log"] == 0 {
		t.Errorf("too little is tested: %v", kinds)
	}
	t.Logf("trust: %d flipped bytes", flips)
}

// idleBytes returns how many bytes of each value file and flushed log segment nothing points to.
func idleBytes(t testing.TB, disk *memfs.FS, v *manifest.Version) map[string]int {
	t.Helper()
	const header = 48
	idle := map[string]int{}
	for _, f := range v.ValueFiles {
		name := folder.Values.Name(f.Number)
		used := header + int(f.Live)
		if f.Log {
			name, used = fmt.Sprintf("%06d.log", f.Number), int(f.Live)
		}
		idle[name] = len(contentOf(t, disk, name)) - used
	}
	return idle
}

// TestCheck_findsWhatIsWrongWithFiles removes, cuts and swaps the files of an open database.
func TestCheck_findsWhatIsWrongWithFiles(t *testing.T) {
	disk := memfs.New()
	db := variedDB(t, disk)
	names, err := disk.List("db")
	ok(t, err)
	both := func(name, words string) {
		t.Helper()
		wantFinding(t, db.Check(t.Context()), name, words)
		wantFinding(t, db.CheckQuick(t.Context()), name, words)
	}
	var tables []string
	damaged := 0
	for _, name := range names {
		if name == "LOCK" || strings.HasSuffix(name, ".copy") { // these may be missing
			continue
		}
		whole := contentOf(t, disk, name)
		replace(t, disk, name, nil)
		wantFinding(t, db.Check(t.Context()), name, "missing")
		replace(t, disk, name, []byte{})
		wantFinding(t, db.Check(t.Context()), name, "")
		damaged += 2
		if strings.HasSuffix(name, ".table") || strings.HasSuffix(name, ".values") {
			replace(t, disk, name, nil)
			both(name, "missing")
			replace(t, disk, name, whole[:len(whole)-1])
			both(name, "bytes, want")
			replace(t, disk, name, append(bytes.Clone(whole), 0))
			both(name, "bytes, want")
			damaged += 3
		}
		if strings.HasSuffix(name, ".table") {
			tables = append(tables, name)
		}
		replace(t, disk, name, whole)
	}
	for _, name := range []string{"999999.table", "999999.values", "999999.log", "MANIFEST-999999"} {
		replace(t, disk, name, []byte("stray"))
		both(name, "does not name the file")
		replace(t, disk, name, nil)
		damaged++
	}
	a, b := contentOf(t, disk, tables[0]), contentOf(t, disk, tables[1])
	replace(t, disk, tables[0], b)
	replace(t, disk, tables[1], a)
	for _, err := range []error{db.Check(t.Context()), db.CheckQuick(t.Context())} {
		all := findings(err)
		if len(all) != 2 || !strings.Contains(all[0].Error(), tables[0]) &&
			!strings.Contains(all[1].Error(), tables[1]) {
			t.Errorf("two tables are swapped, and the check finds: %v", err)
		}
	}
	replace(t, disk, tables[0], a)
	replace(t, disk, tables[1], b)
	ok(t, db.Check(t.Context()))
	t.Logf("trust: %d damaged files", damaged+2)
}

// described is a version of a manifest, to be changed.
type described struct {
	*manifest.Version
}

// with returns the first table that satisfies wanted.
func (d described) with(t testing.TB, wanted func(*manifest.Table) bool) *manifest.Table {
	t.Helper()
	for table := range d.Tables() {
		if wanted(table) {
			return table
		}
	}
	t.Fatal("no table is as wanted")
	return nil
}

// TestCheck_findsAManifestThatIsWrong checks databases whose manifests are valid but untrue.
func TestCheck_findsAManifestThatIsWrong(t *testing.T) {
	anyTable := func(*manifest.Table) bool { return true }
	hasBuckets := func(m *manifest.Table) bool { return len(m.Buckets) > 0 }
	pointing := func(m *manifest.Table) bool { return len(m.Values) > 0 }
	plain := func(m *manifest.Table) bool { return len(m.Dictionaries) == 0 }
	encoded := func(m *manifest.Table) bool { return len(m.Dictionaries) > 0 }
	for _, c := range []struct {
		words  string
		quick  bool
		table  func(*manifest.Table) bool
		change func(m *manifest.Table, v *manifest.Version)
	}{
		{"entries", true, anyTable, func(m *manifest.Table, _ *manifest.Version) { m.Entries++ }},
		{"tombstones", true, anyTable, func(m *manifest.Table, _ *manifest.Version) { m.Tombstones++ }},
		{"bytes of keys", true, anyTable, func(m *manifest.Table, _ *manifest.Version) { m.RawBytes-- }},
		{"bytes, want", true, anyTable, func(m *manifest.Table, _ *manifest.Version) { m.Size++ }},
		{"the keys", false, anyTable, func(m *manifest.Table, _ *manifest.Version) {
			m.Smallest = m.Smallest[:len(m.Smallest)-1]
		}},
		{"the keys", false, anyTable, func(m *manifest.Table, _ *manifest.Version) {
			m.Largest = append(m.Largest, 0)
		}},
		{"of bucket", false, hasBuckets, func(m *manifest.Table, _ *manifest.Version) {
			m.Buckets[0].Entries++
		}},
		{"of bucket", false, hasBuckets, func(m *manifest.Table, _ *manifest.Version) {
			m.Buckets[0].Bytes++
		}},
		{"of bucket", false, hasBuckets, func(m *manifest.Table, _ *manifest.Version) {
			m.Buckets = append(m.Buckets, manifest.BucketShare{Bucket: 1000})
		}},
		{"points to", false, pointing, func(m *manifest.Table, _ *manifest.Version) {
			m.Values[0].Count++
		}},
		{"points to", false, pointing, func(m *manifest.Table, _ *manifest.Version) {
			m.Values[0].Bytes--
		}},
		{"dictionaries", false, plain, func(m *manifest.Table, v *manifest.Version) {
			m.Dictionaries = []uint64{v.Dictionaries[0].Number}
		}},
		{"dictionary", false, encoded, func(m *manifest.Table, v *manifest.Version) {
			m.Dictionaries = nil
		}},
	} {
		disk := memfs.New()
		ok(t, variedDB(t, disk).Close())
		state, err := manifest.Load(disk, "db")
		ok(t, err)
		v := described{state.Version}
		m := v.with(t, c.table)
		c.change(m, v.Version)
		rewrite(t, disk, state)
		db := reader(t, disk)
		err = db.Check(t.Context())
		name := folder.Table.Name(m.Number)
		if all := findings(err); len(all) == 0 || slices.ContainsFunc(all, func(err error) bool {
			return !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.words)
		}) {
			t.Errorf("want %q of %s, found: %v", c.words, name, err)
		}
		if err := db.CheckQuick(t.Context()); c.quick {
			wantFinding(t, err, name, c.words)
		} else {
			ok(t, err)
		}
		ok(t, db.Close())
	}
}

// rewrite replaces the manifest of a closed database.
func rewrite(t testing.TB, disk *memfs.FS, state *manifest.State) {
	t.Helper()
	replace(t, disk, folder.Manifest.Name(state.Number), nil)
	j, err := manifest.Create(disk, "db", state.Number, state.Database, state.Version)
	ok(t, err)
	ok(t, j.Close())
}

func reader(t testing.TB, disk *memfs.FS) *stoat.DB {
	t.Helper()
	options := variedOptions
	options.ReadOnly = true
	db, err := tuned.Open(disk, "db", &options, varied)
	ok(t, err)
	return db
}

func TestCheck_findsTombstonesInTheBottomRun(t *testing.T) {
	disk := memfs.New()
	db, err := tuned.Open(disk, "db", nil, varied)
	ok(t, err)
	ok(t, db.Put([]byte("m"), nil))
	ok(t, db.Flush())
	ok(t, db.Delete([]byte("m")))
	ok(t, db.Flush())
	crashed := disk.CrashKeepAll()
	ok(t, db.Close())
	state, err := manifest.Load(crashed, "db")
	ok(t, err)
	v := state.Version
	v.Bottom, v.Young = v.Young[0], nil
	rewrite(t, crashed, state)
	db = reader(t, crashed)
	wantFinding(t, db.Check(t.Context()), folder.Table.Name(v.Bottom.Tables[0].Number), "1 tombstones")
	ok(t, db.Close())
}

func TestCheck_findsDataOfUnknownBuckets(t *testing.T) {
	disk := memfs.New()
	db, err := tuned.Open(disk, "db", nil, varied)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "bucket"), "a", "b") })
	ok(t, db.Close())
	state, err := manifest.Load(disk, "db")
	ok(t, err)
	v := state.Version
	if len(v.Bottom.Tables) != 2 {
		t.Fatalf("the bottom run has %d tables, want the catalog and the data", len(v.Bottom.Tables))
	}
	v.Bottom.Tables = v.Bottom.Tables[1:]
	rewrite(t, disk, state)
	db = reader(t, disk)
	wantFinding(t, db.Check(t.Context()), folder.Table.Name(v.Bottom.Tables[0].Number), "bucket 1,")
	ok(t, db.CheckQuick(t.Context()))
	ok(t, db.Close())
}

func TestCheck_countsWhatIsTooMuchToList(t *testing.T) {
	disk := memfs.New()
	db := variedDB(t, disk)
	for i := range 130 {
		replace(t, disk, folder.Table.Name(uint64(5000+i)), []byte("stray"))
	}
	err := db.Check(context.Background())
	wantErr(t, err, stoat.ErrCorrupt)
	all := findings(err)
	if n := len(all); n != 101 || !strings.Contains(all[n-1].Error(), "30 more") {
		t.Errorf("%d findings: %v", n, err)
	}
}
