package table

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/pattern"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// entry is one entry of a table under test.
type entry struct {
	key, value []byte
	kind       keyspace.Kind
}

const testPath = "/db/000007.table"

func testDatabase() [16]byte { return [16]byte{0xDB, 1, 2, 3} }

// zipped returns an encoding that compresses.
func zipped() block.Encoding {
	c, err := block.NewCompressor()
	if err != nil {
		panic(err)
	}
	return block.Encoding{Compressor: c}
}

// testDictionary knows messages and the texts of [shapes].
var testDictionary = sync.OnceValue(func() *block.Dictionary {
	var samples [][]byte
	for i, e := range messages(300, rand.New(rand.NewSource(5))) {
		samples = append(samples, e.value, bytes.Repeat([]byte("some text "), i%30))
	}
	return block.NewDictionary(9, 0, 0, pattern.Train(samples).Append(nil))
})

// encoded returns an encoding with which each value decodes alone.
func encoded() block.Encoding {
	e, err := testDictionary().NewEncoder()
	if err != nil {
		panic(err)
	}
	return block.Encoding{Encoder: e}
}

// decoded returns the value of an entry as it was before it was encoded.
func decoded(t testing.TB, e keyspace.Entry) []byte {
	t.Helper()
	if e.Dictionary == 0 {
		return e.Value
	}
	value, err := testDictionary().Decode(nil, e.Value, e.Size())
	if err != nil || e.Dictionary != 9 {
		t.Fatalf("value of dictionary %d cannot be decoded: %v", e.Dictionary, err)
	}
	return value
}

// writeTable writes a table with the given entries to a file of fs.
func writeTable(t testing.TB, fs vfs.Files, path string, o WriterOptions, entries []entry) Summary {
	t.Helper()
	f, err := fs.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	o.Number, o.Database = 7, testDatabase()
	w := NewWriter(f, o)
	for _, e := range entries {
		if err := w.Add(e.key, keyspace.Entry{Kind: e.kind, Value: e.value}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil || uint64(size) != s.Size {
		t.Fatalf("size is %d, summary says %d (%v)", size, s.Size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// newFS returns a file system with the directory of testPath.
func newFS(t testing.TB) vfs.Files {
	t.Helper()
	fs := memfs.New()
	if err := fs.MkdirAll("/db"); err != nil {
		t.Fatal(err)
	}
	return fs
}

// openTable returns a table with the given entries in a memory file system.
func openTable(t testing.TB, o WriterOptions, cache *Cache, entries []entry) *Table {
	t.Helper()
	fs := newFS(t)
	s := writeTable(t, fs, testPath, o, entries)
	return New(Config{
		FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: int64(s.Size), Cache: cache,
		Dictionaries: []*block.Dictionary{testDictionary()},
	})
}

// puts returns entries with the given keys, sorted, and short values that name them.
func puts(keys ...string) []entry {
	slices.Sort(keys)
	entries := make([]entry, 0, len(keys))
	for _, key := range slices.Compact(keys) {
		value := fmt.Appendf(nil, "value of %q", key[:min(len(key), 20)])
		entries = append(entries, entry{[]byte(key), value, keyspace.KindPut})
	}
	return entries
}

// messages returns n entries of about 397 bytes of JSON each, under 9-byte counters.
func messages(n int, rng *rand.Rand) []entry {
	random := func(n int) string {
		p := make([]byte, n)
		rng.Read(p)
		return base64.StdEncoding.EncodeToString(p)
	}
	entries := make([]entry, n)
	for i := range entries {
		key := binary.BigEndian.AppendUint64([]byte{0x10}, uint64(i))
		value := fmt.Appendf(nil, "{\n\t\"previous\": \"%%%s.sha256\",\n\t\"author\": \"@%s.ed25519\","+
			"\n\t\"sequence\": %d,\n\t\"timestamp\": %d,\n\t\"hash\": \"sha256\",\n\t\"content\": {"+
			"\n\t\t\"type\": \"post\",\n\t\t\"text\": \"%s\"\n\t}\n}",
			random(32), random(32), rng.Intn(10000), rng.Uint64(), random(100))
		entries[i] = entry{key, value, keyspace.KindPut}
	}
	return entries
}

// find calls Find and returns what it finds.
func find(table *Table, key []byte) (e keyspace.Entry, ok bool, err error) {
	ok, err = table.Find(key, nil, &e)
	return e, ok, err
}

// findHashed is find for FindHashed.
func findHashed(table *Table, key []byte, hash uint64) (e keyspace.Entry, ok bool, err error) {
	ok, err = table.FindHashed(key, hash, &e)
	return e, ok, err
}

// checkEntry fails the test unless Get finds e.
func checkEntry(t testing.TB, table *Table, e entry) {
	t.Helper()
	found, ok, err := findHashed(table, e.key, filter.Hash(e.key))
	if err != nil || !ok || found.Kind != e.kind || !bytes.Equal(decoded(t, found), e.value) {
		t.Fatalf("Get(%.40q) = %.80v, %v, %v; want %.40q, %d", e.key, found, ok, err, e.value, e.kind)
	}
}

// noMapFS is a file system without maps.
type noMapFS struct{ vfs.Files }

type noMapFile struct{ vfs.File }

func (fs noMapFS) Open(name string) (vfs.File, error) {
	f, err := fs.Files.Open(name)
	return noMapFile{f}, err
}

func (noMapFile) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// verifiedFS is noMapFS, and says that its files verify what is read. It counts what is.
type verifiedFS struct {
	vfs.Files
	read atomic.Int64 // bytes
}

type verifiedFile struct {
	noMapFile
	fs *verifiedFS
}

func (fs *verifiedFS) Open(name string) (vfs.File, error) {
	f, err := fs.Files.Open(name)
	return verifiedFile{noMapFile{f}, fs}, err
}

func (verifiedFile) VerifiesReads() bool { return true }

func (f verifiedFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.read.Add(int64(len(p)))
	return f.noMapFile.ReadAt(p, off)
}

// reading is how a file system lets files be read.
type reading uint8

const (
	mapped  reading = iota // in a map
	noMap                  // without maps
	trusted                // without maps, and verified
)

// mode is a way to write and read a table.
type mode struct {
	name  string
	o     WriterOptions
	read  reading
	limit int64 // of the cache
	help  Help
}

// helpers runs as many helpers as scans want.
func helpers(fn func()) bool {
	go fn()
	return true
}

func modes() []mode {
	return []mode{
		{"raw", WriterOptions{}, mapped, 1 << 30, nil},
		{"filter", WriterOptions{Filter: true}, mapped, 1 << 30, nil},
		{"zstd", WriterOptions{Encoding: zipped()}, mapped, 1 << 30, nil},
		{"tiny blocks", WriterOptions{BlockBytes: 50, Encoding: zipped()}, mapped, 1 << 30, nil},
		{"no map", WriterOptions{BlockBytes: 500, Filter: true}, noMap, 1 << 30, nil},
		{"pattern", WriterOptions{Encoding: encoded()}, mapped, 1 << 30, nil},
		{"pattern, tiny blocks", WriterOptions{BlockBytes: 80, Encoding: encoded()}, mapped, 1 << 30,
			nil},
		{"pattern, no cache", WriterOptions{BlockBytes: 900, Encoding: encoded()}, noMap, 0, nil},
		{"no cache", WriterOptions{BlockBytes: 300, Encoding: zipped(), Filter: true}, noMap, 0, nil},
		{"raw, helpers", WriterOptions{BlockBytes: 300}, noMap, 64 << 10, helpers},
		{"pattern, helpers", WriterOptions{BlockBytes: 300, Encoding: encoded()}, mapped, 64 << 10,
			helpers},
		{"zstd, helpers", WriterOptions{BlockBytes: 900, Encoding: zipped()}, mapped, 1 << 30, helpers},
		{"verified", WriterOptions{}, trusted, 1 << 30, nil},
		{"verified, little cache", WriterOptions{}, trusted, 20 << 10, helpers},
		{"verified, no cache", WriterOptions{Filter: true}, trusted, 0, nil},
	}
}

// open returns a table with the given entries, written and read in this mode.
func (m mode) open(t testing.TB, entries []entry) *Table {
	t.Helper()
	fs := newFS(t)
	s := writeTable(t, fs, testPath, m.o, entries)
	switch m.read {
	case noMap:
		fs = noMapFS{fs}
	case trusted:
		fs = &verifiedFS{Files: fs}
	}
	cache := NewCache(m.limit)
	cache.SetHelp(m.help)
	return New(Config{
		FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: int64(s.Size),
		Cache: cache, Dictionaries: []*block.Dictionary{testDictionary()},
	})
}

// shapes returns entries of many shapes: of keys, of values, and with tombstones.
func shapes(rng *rand.Rand) map[string][]entry {
	random := func(n int) []byte {
		p := make([]byte, n)
		rng.Read(p)
		return p
	}
	of := func(n int, value func(i int) []byte, key func(i int) string) []entry {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = key(i)
		}
		entries := puts(keys...)
		for i := range entries {
			entries[i].value = value(i)
		}
		return entries
	}
	text := func(i int) []byte { return bytes.Repeat([]byte("some text "), i%30) }
	counter := func(prefix string) func(i int) string {
		return func(i int) string {
			return string(binary.BigEndian.AppendUint64([]byte(prefix), uint64(i)))
		}
	}
	all := map[string][]entry{
		"one":            puts("only"),
		"one, empty":     {{[]byte{}, []byte{}, keyspace.KindPut}},
		"one byte":       of(256, text, func(i int) string { return string([]byte{byte(i)}) }),
		"counters":       of(1200, text, counter("\x10")),
		"sparse":         of(900, text, func(i int) string { return counter("\x10")(i * 7919) }),
		"random keys":    of(900, text, func(int) string { return string(random(16)) }),
		"random lengths": of(900, text, func(int) string { return string(random(rng.Intn(30))) }),
		"few letters": of(900, text, func(int) string {
			key := make([]byte, rng.Intn(20))
			for i := range key {
				key[i] = "\x00\x01a\xff"[rng.Intn(4)]
			}
			return string(key)
		}),
		"little-endian": of(900, text, func(i int) string {
			return string(binary.LittleEndian.AppendUint64([]byte{0x10}, uint64(i)))
		}),
		"prefixes of one another": of(600, text, func(i int) string { return string(make([]byte, i)) }),
		"long keys": of(8, text, func(i int) string {
			return string(append(make([]byte, 65_534), byte(i)))
		}),
		"large values": of(6, func(i int) []byte { return random(i * 20_000) }, counter("")),
		"large text": of(5, func(i int) []byte {
			return bytes.Repeat([]byte("text"), i*20_000)
		}, counter("")),
		"tiny random values": of(1200, func(int) []byte { return random(8) }, counter("")),
	}
	mixed := append(of(300, text, counter("\x01catalog")), of(900, text, counter("\x11\x05"))...)
	mixed = append(mixed, of(900, text, counter("\x11\x09the/same/long/path/"))...)
	all["mixed prefixes"] = append(mixed, of(2, text, counter("\x12"))...)
	graves := of(1000, text, counter("\x10"))
	for i := range graves {
		if i%3 == 0 || i > 800 {
			graves[i].kind, graves[i].value = keyspace.KindDelete, []byte{}
		}
	}
	all["tombstones"] = graves
	return all
}

// probes returns keys at and around those of the entries, and far from them.
func probes(entries []entry, rng *rand.Rand) [][]byte {
	all := [][]byte{{}, {0}, {0xFF}, bytes.Repeat([]byte{0xFF}, 40)}
	for range min(300, 2*len(entries)) {
		key := entries[rng.Intn(len(entries))].key
		all = append(all, key, append(bytes.Clone(key), 0), append(bytes.Clone(key), 0xFF))
		if len(key) > 0 {
			at := len(key) - 1 - rng.Intn(min(len(key), 12))
			up, down := bytes.Clone(key), bytes.Clone(key)
			up[at]++
			down[at]--
			all = append(all, key[:at], up, down)
		}
	}
	return all
}

// readFile returns the first size bytes of a file.
func readFile(t testing.TB, fs vfs.Files, path string, size int64) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, size)
	if _, err := f.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}
