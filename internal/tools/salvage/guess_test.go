package salvage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/testing/symlink"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// testDatabase is immutable.
var testDatabase = [16]byte{1, 2, 3}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSource(t testing.TB) vfs.FS {
	t.Helper()
	fs := memfs.New()
	check(t, fs.MkdirAll("db"))
	return fs
}

// userKey returns a key in the root bucket.
func userKey(k string) []byte { return append(keyspace.AppendPrefix(nil, keyspace.RootID), k...) }

// put is a key with its value; with a number, the value lies in the file of that number.
type put struct {
	key, value string
	file       uint64
}

// writeLog writes a log with one commit.
func writeLog(t testing.TB, fs vfs.FS, number, commit uint64, puts ...put) {
	t.Helper()
	s, err := wal.Create(fs, "db", number, testDatabase)
	check(t, err)
	a := batch.NewArena(wal.HeaderBytes)
	a.Begin()
	for _, p := range puts {
		a.Append(keyspace.KindPut, 0, userKey(p.key), []byte(p.value))
	}
	s.Append(a.Take(s.Size()), commit, true)
	a.Commit()
	_, err = s.Write(wal.Durable)
	check(t, err)
	check(t, s.Close())
}

// writeTable writes a table.
func writeTable(t testing.TB, fs vfs.FS, number uint64, puts ...put) {
	t.Helper()
	file, err := fs.Create(filepath.Join("db", folder.Table.Name(number)))
	check(t, err)
	w := table.NewWriter(file, table.WriterOptions{Number: number, Database: testDatabase})
	for _, p := range puts {
		e := keyspace.Entry{Kind: keyspace.KindPut, Value: []byte(p.value)}
		if p.file > 0 {
			e.Kind = keyspace.KindPointer
			e.Value = valuelog.NewPointer(p.file, 100, e.Value).Append(nil)
		}
		check(t, w.Add(userKey(p.key), e))
	}
	_, err = w.Finish()
	check(t, err)
}

// planOf returns the plan of the source.
func planOf(t testing.TB, fs vfs.FS) *plan {
	t.Helper()
	from, err := openOriginal(fs, "db")
	check(t, err)
	p, err := makePlan(from, new(recorder))
	check(t, err)
	return p
}

// valueOf returns the value of a key as the layers have it.
func valueOf(t testing.TB, p *plan, key string) string {
	t.Helper()
	layers, err := p.layers(t.Context())
	check(t, err)
	m := newMerger(layers)
	for f, ok := m.next(); ok; f, ok = m.next() {
		if string(f.key) == string(userKey(key)) {
			return string(f.entry.Value)
		}
	}
	return ""
}

func TestPlan_takesLogsThatWereNeverFlushedForTheNewest(t *testing.T) {
	fs := newSource(t)
	writeLog(t, fs, 3, 1, put{key: "a", value: "first"}, put{key: "b", value: "first"})
	writeTable(t, fs, 4, put{key: "a", value: "second"}, put{key: "c", value: "x", file: 3})
	writeLog(t, fs, 5, 2, put{key: "b", value: "third"}, put{key: "d", value: "third"})
	writeLog(t, fs, 6, 3, put{key: "d", value: "fourth"})
	writeTable(t, fs, 7, put{key: "b", value: "second"})
	p := planOf(t, fs)
	for key, want := range map[string]string{"a": "second", "b": "third", "d": "fourth"} {
		if got := valueOf(t, p, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestPlan_guessesWhenFilesAreMissingAndTheManifestIsTorn(t *testing.T) {
	fs := newSource(t)
	for number, key := range map[uint64]string{2: "old", 4: "kept", 6: "new"} {
		writeTable(t, fs, number, put{key: key, value: key})
	}
	tableOf := func(number uint64, key string) *manifest.Table {
		return &manifest.Table{
			Number: number, Size: 1, Entries: 1, Smallest: userKey(key), Largest: userKey(key),
		}
	}
	for _, torn := range []bool{false, true} {
		fs := fs.(*memfs.FS).CrashKeepAll()
		j, err := manifest.Create(fs, "db", 1, testDatabase, &manifest.Version{
			Young: []manifest.Run{{
				Tables:  []*manifest.Table{tableOf(4, "kept")},
				Deleted: keyspace.Spans{{Start: userKey("o"), End: userKey("p")}},
			}},
			Bottom:     manifest.Run{Tables: []*manifest.Table{tableOf(3, "missing")}},
			NextNumber: 9, LogNumber: 9,
		})
		check(t, err)
		check(t, j.Close())
		if torn {
			check(t, fs.Remove(filepath.Join("db", folder.ManifestCopy.Name(1))))
			appendTo(t, fs, folder.Manifest.Name(1))
		}
		p := planOf(t, fs)
		older := p.recorder.made.Older
		if guessed := p.version == nil; guessed != torn || older != torn || p.hints == nil {
			t.Fatalf("torn %v: the version is %v, the report %+v", torn, p.version, p.recorder.made)
		}
		if !torn {
			continue
		}
		for key, want := range map[string]string{"old": "", "kept": "kept", "new": "new"} {
			if got := valueOf(t, p, key); got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
	}
}

// The oldest table of a front may be older than what the front deletes from.
func TestPlan_knowsWhatAFrontHidesWhenTheManifestIsTorn(t *testing.T) {
	fs := newSource(t)
	for number, keys := range map[uint64]string{3: "c", 4: "bm", 5: "an", 8: "d"} {
		var puts []put
		for _, key := range keys {
			puts = append(puts, put{key: string(key), value: "kept"})
		}
		writeTable(t, fs, number, puts...)
	}
	tableOf := func(number uint64, first, last string) *manifest.Table {
		return &manifest.Table{
			Number: number, Size: 1, Entries: 1, Smallest: userKey(first), Largest: userKey(last),
		}
	}
	j, err := manifest.Create(fs, "db", 1, testDatabase, &manifest.Version{
		Young: []manifest.Run{
			manifest.NewFront([]*manifest.Table{tableOf(3, "c", "c"), tableOf(8, "d", "d")},
				keyspace.Span{Start: userKey("a"), End: userKey("e")}),
			{Tables: []*manifest.Table{tableOf(5, "a", "n")}},
		},
		Bottom: manifest.Run{Tables: []*manifest.Table{
			tableOf(4, "b", "m"), tableOf(2, "x", "x"), // which is missing
		}},
		NextNumber: 9, LogNumber: 9,
	})
	check(t, err)
	check(t, j.Close())
	check(t, fs.Remove(filepath.Join("db", folder.ManifestCopy.Name(1))))
	appendTo(t, fs, folder.Manifest.Name(1))
	p := planOf(t, fs)
	if p.version != nil || p.hints == nil {
		t.Fatalf("the version is %v, the report %+v", p.version, p.recorder.made)
	}
	for key, want := range map[string]string{
		"a": "", "b": "", "c": "kept", "d": "kept", "m": "kept", "n": "kept",
	} {
		if got := valueOf(t, p, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestPlan_guessesWhenAValueFileIsMissingAndTheManifestIsTorn(t *testing.T) {
	for _, log := range []bool{false, true} {
		fs := newSource(t)
		writeTable(t, fs, 2, put{key: "a", value: "x", file: 3})
		j, err := manifest.Create(fs, "db", 1, testDatabase, &manifest.Version{
			Bottom: manifest.Run{Tables: []*manifest.Table{{
				Number: 2, Size: 1, Entries: 1, Smallest: userKey("a"), Largest: userKey("a"),
				Values: []manifest.ValueShare{{File: 3, Bytes: 1, Count: 1}},
			}}},
			ValueFiles: []manifest.ValueFile{{Number: 3, Size: 200, Log: log, Live: 1, Count: 1}},
			NextNumber: 9, LogNumber: 9,
		})
		check(t, err)
		check(t, j.Close())
		check(t, fs.Remove(filepath.Join("db", folder.ManifestCopy.Name(1))))
		appendTo(t, fs, folder.Manifest.Name(1))
		if p := planOf(t, fs); p.version != nil || !p.recorder.made.Older {
			t.Errorf("log %v: the version is %v, the report %+v", log, p.version, p.recorder.made)
		}
	}
}

// appendTo puts something behind the end of a file.
func appendTo(t testing.TB, fs vfs.FS, name string) {
	t.Helper()
	path := filepath.Join("db", name)
	file, err := fs.Open(path)
	check(t, err)
	size, err := file.Size()
	check(t, err)
	data := make([]byte, size)
	_, err = file.ReadAt(data, 0)
	check(t, errors.Join(err, file.Close(), fs.Remove(path)))
	file, err = fs.Create(path)
	check(t, err)
	_, err = file.WriteAt(append(data, "torn"...), 0)
	check(t, errors.Join(err, file.Close()))
}

func TestRun_saysThatTheNewDatabaseIsDamagedAndNotTheOldOne(t *testing.T) {
	fs := newSource(t)
	writeTable(t, fs, 2, put{key: "a", value: "b"})
	job := Job{FS: fs, Source: "db", Dest: "new", Verify: func() error {
		return corrupt.New("new/000001.table", 5, "a bad disk")
	}}
	_, err := job.Run(t.Context())
	if err == nil || errors.Is(err, corrupt.Err) {
		t.Errorf("the error is %v", err)
	}
	if names, _ := fs.List("new"); len(names) > 0 {
		t.Errorf("%q stay", names)
	}
}

func TestInside_followsSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	db, link := filepath.Join(dir, "db"), filepath.Join(dir, "link")
	check(t, os.MkdirAll(filepath.Join(db, "sub"), 0o700))
	symlink.Make(t, filepath.Join(db, "sub"), link)
	for path, want := range map[string]bool{
		db: true, link: true, filepath.Join(link, "new", "deep"): true,
		filepath.Join(db, "new"): true, filepath.Join(dir, "new"): false, dir: false,
	} {
		if inside(db, path) != want {
			t.Errorf("%s lies within %s: %v", path, db, !want)
		}
	}
	if !inside(link, filepath.Join(db, "sub", "new")) {
		t.Error("a folder is not found within what the link leads to")
	}
}

// TestPlan_knowsThatFilesMayBeInAStore has a folder that is shipped to a store and lacks the table
// that is only there. A crash has left the output of a compaction of what is older than the rest.
func TestPlan_knowsThatFilesMayBeInAStore(t *testing.T) {
	fs := newSource(t)
	for number, value := range map[uint64]string{4: "newest", 10: "old"} {
		writeTable(t, fs, number, put{key: "key", value: value})
	}
	file, err := fs.Open(filepath.Join("db", folder.Table.Name(4)))
	check(t, err)
	size, err := file.Size()
	check(t, errors.Join(err, file.Close()))
	tableOf := func(number uint64) manifest.Run {
		return manifest.Run{Tables: []*manifest.Table{{
			Number: number, Size: uint64(size), Entries: 1,
			Smallest: userKey("key"), Largest: userKey("key"),
		}}}
	}
	j, err := manifest.Create(fs, "db", 1, testDatabase, &manifest.Version{
		Young: []manifest.Run{tableOf(4)}, Bottom: tableOf(3), NextNumber: 9, LogNumber: 9,
	})
	check(t, err)
	check(t, j.Close())
	claim, err := fs.Create(filepath.Join("db", folder.ClaimPrefix+"000001"))
	check(t, err)
	check(t, claim.Close())
	p := planOf(t, fs)
	if got := valueOf(t, p, "key"); got != "newest" || p.recorder.made.Older {
		t.Errorf("the key has the %q value, the report %+v", got, p.recorder.made)
	}
}
