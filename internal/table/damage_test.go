package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// tableOf returns a table whose file is image.
func tableOf(t testing.TB, image []byte, size int64, cache *Cache) *Table {
	t.Helper()
	fs := newFS(t)
	f, err := fs.Create(testPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(image, 0); err != nil {
		t.Fatal(err)
	}
	return New(Config{FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: size,
		Cache: cache})
}

// damaged reports whether err is one that damage may cause.
func damaged(err error) bool {
	return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
}

// checkRightOrDamaged reads everything in every way and fails the test unless each answer is right
// or reports damage. It returns whether all were right.
func checkRightOrDamaged(t testing.TB, table *Table, entries []entry, what string, at int) bool {
	t.Helper()
	right := true
	for i, e := range entries {
		found, ok, err := findHashed(table, e.key, filter.Hash(e.key))
		if err != nil && !ok && damaged(err) {
			right = false
		} else if err != nil || !ok || found.Kind != e.kind || !bytes.Equal(decoded(t, found), e.value) {
			t.Fatalf("%s %d: Get of entry %d = %.80v, %v, %v", what, at, i, found, ok, err)
		}
	}
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for _, forward := range []bool{true, false} {
		move, i, step := c.Next, 0, 1
		ok := c.First()
		if !forward {
			move, i, step, ok = c.Prev, len(entries)-1, -1, c.Last()
		}
		for ; ok; ok, i = move(), i+step {
			e := entries[i]
			if !bytes.Equal(c.Key(), e.key) || !bytes.Equal(decoded(t, c.Entry()), e.value) {
				t.Fatalf("%s %d: the cursor is on %.40q, want entry %d", what, at, c.Key(), i)
			}
		}
		ended := i == len(entries) || i == -1
		if c.Valid() || c.Err() != nil && !damaged(c.Err()) || c.Err() == nil && !ended {
			t.Fatalf("%s %d: the cursor ends at entry %d, %v", what, at, i, c.Err())
		}
		right = right && c.Err() == nil
	}
	return right
}

// smallTable returns entries and their table file, with everything that a table can have.
func smallTable(t testing.TB) ([]entry, []byte) {
	t.Helper()
	entries := append(puts("\x01catalog"), messages(6, rand.New(rand.NewSource(1)))...)
	entries = append(entries, puts("\x11a", "\x11bbb", "\x11bcc")...)
	entries[3].kind, entries[3].value = keyspace.KindDelete, []byte{}
	fs := newFS(t)
	o := WriterOptions{BlockBytes: 900, Encoding: zipped(), Filter: true}
	s := writeTable(t, fs, testPath, o, entries)
	return entries, readFile(t, fs, testPath, int64(s.Size))
}

func TestTable_noticesEveryFlippedByte(t *testing.T) {
	entries, image := smallTable(t)
	cache := NewCache(1 << 20)
	if !checkRightOrDamaged(t, tableOf(t, image, int64(len(image)), cache), entries, "undamaged", 0) {
		t.Fatal("the undamaged table is damaged")
	}
	for at := range image {
		flip := []byte{0x01, 0x80, 0xFF}[at%3]
		image[at] ^= flip
		table := tableOf(t, image, int64(len(image)), cache)
		if checkRightOrDamaged(t, table, entries, "flipped byte", at) {
			t.Errorf("flipping byte %d of %d goes unnoticed", at, len(image))
		}
		image[at] ^= flip
	}
}

func TestTable_noticesEveryTruncation(t *testing.T) {
	entries, image := smallTable(t)
	cache := NewCache(1 << 20)
	for n := range image {
		for _, size := range []int64{int64(n), int64(len(image))} {
			table := tableOf(t, image[:n], size, cache)
			if checkRightOrDamaged(t, table, entries, "truncation to", n) {
				t.Errorf("a table of %d of %d bytes, expected %d, is read", n, len(image), size)
			}
		}
	}
}

func TestTable_refusesAnotherFile(t *testing.T) {
	entries, image := smallTable(t)
	key := entries[1].key
	get := func(change func(c *Config)) error {
		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		change(&table.config)
		_, _, err := findHashed(table, key, filter.Hash(key))
		return err
	}
	if err := get(func(c *Config) { c.Number++ }); !errors.Is(err, corrupt.Err) {
		t.Errorf("another number: %v", err)
	}
	if err := get(func(c *Config) { c.Database[15]++ }); !errors.Is(err, corrupt.Err) {
		t.Errorf("another database: %v", err)
	}
	reseal := func(p []byte) { binary.LittleEndian.PutUint32(p[44:], checksum.Of(p[:44])) }
	image[8]++
	reseal(image[:fileheader.Size])
	if err := get(func(*Config) {}); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a newer version: %v", err)
	}
	image[8]--
	copy(image, "STOATLOG")
	reseal(image[:fileheader.Size])
	if err := get(func(*Config) {}); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a log: %v", err)
	}
}

func TestTable_namesFileAndOffsetOfDamage(t *testing.T) {
	entries, image := smallTable(t)
	image[fileheader.Size+5] ^= 1
	table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
	_, _, err := findHashed(table, entries[0].key, filter.Hash(entries[0].key))
	var damage *corrupt.Error
	if !errors.As(err, &damage) || damage.File != testPath || damage.Offset != fileheader.Size {
		t.Errorf("error is %v", err)
	}
}

// A file that shrinks under its map faults when it is touched, as an unreadable sector does.
func TestTable_reportsAFaultInAMapAsAnError(t *testing.T) {
	entries := messages(2000, rand.New(rand.NewSource(1)))
	path := filepath.Join(t.TempDir(), "000007.table")
	s := writeTable(t, vfs.OS(), path, WriterOptions{}, entries)
	table := New(Config{FS: vfs.OS(), Path: path, Number: 7, Database: testDatabase(),
		Size: int64(s.Size), Cache: NewCache(1 << 20)})
	checkEntry(t, table, entries[0])
	if table.reader.Load().file != nil {
		if runtime.GOOS == "linux" && strconv.IntSize == 64 {
			t.Fatal("the file is not mapped")
		}
		t.Skip("files are not mapped here")
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	last := entries[len(entries)-1]
	if _, ok, err := findHashed(table, last.key, filter.Hash(last.key)); ok || err == nil ||
		errors.Is(err, corrupt.Err) {
		t.Errorf("Get = %v, %v", ok, err)
	}
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	if c.Last() || c.Valid() || c.Err() == nil {
		t.Errorf("Last is valid %v, error %v", c.Valid(), c.Err())
	}
}

func TestTable_roundTripsOnTheOperatingSystem(t *testing.T) {
	entries := messages(2000, rand.New(rand.NewSource(1)))
	path := filepath.Join(t.TempDir(), "000007.table")
	s := writeTable(t, vfs.OS(), path, WriterOptions{Encoding: zipped(), Filter: true}, entries)
	table := New(Config{FS: vfs.OS(), Path: path, Number: 7, Database: testDatabase(),
		Size: int64(s.Size), Cache: NewCache(1 << 20)})
	for _, e := range entries {
		checkEntry(t, table, e)
	}
}

// FuzzTable gives tables with arbitrary bytes, but the right checksums where they are cheap to put
// right, to everything that reads tables.
func FuzzTable(f *testing.F) {
	entries, image := smallTable(f)
	f.Add(image, entries[2].key)
	for at := fileheader.Size; at < len(image); at += 97 {
		f.Add(append(bytes.Clone(image[:at]), image[len(image)-FooterSize:]...), entries[1].key)
		image[at] ^= 1
		f.Add(bytes.Clone(image), entries[0].key)
		image[at] ^= 1
	}
	f.Fuzz(func(t *testing.T, image, key []byte) {
		if len(image) < fileheader.Size+FooterSize {
			return
		}
		id := headerOf(7, testDatabase())
		image = bytes.Clone(image)
		header := id.Bytes()
		copy(image, header[:])
		tail := image[len(image)-FooterSize:]
		copy(tail, id.Prefix())
		if at := binary.LittleEndian.Uint64(tail[56:]); at < uint64(len(image)-FooterSize) {
			sum := checksum.Of(image[at : len(image)-FooterSize])
			binary.LittleEndian.PutUint32(tail[76:], sum)
		}
		binary.LittleEndian.PutUint32(tail[84:], checksum.Of(tail[:84]))

		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		if _, _, err := findHashed(table, key, filter.Hash(key)); err != nil && !damaged(err) {
			t.Fatal(err)
		}
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		c.Seek(key)
		all := 0
		for ok := c.First(); ok; ok = c.Next() {
			c.Value()
			all++
		}
		if c.Err() != nil && !damaged(c.Err()) {
			t.Fatal(c.Err())
		}
		if intact := countIntact(t, image); intact < all || c.Err() == nil && intact != all {
			t.Fatalf("%d entries are in intact blocks, a scan finds %d, and %v", intact, all, c.Err())
		}
		c.SeekBefore(key)
		c.Last()
	})
}

// countIntact returns how many entries the intact blocks of a table without dictionaries have.
func countIntact(t testing.TB, image []byte) (n int) {
	t.Helper()
	l, _ := layoutOf(t, image)
	var d block.Decompressor
	for i := range l.Blocks {
		keys, err := l.ReadKeys(i)
		if err != nil {
			continue
		}
		values, err := l.ReadValues(i, keys.Len(), &d)
		if err != nil {
			continue
		}
		if values.Codec != block.Pattern { // of which the table has no dictionary
			n += keys.Len()
		}
	}
	return n
}

// FuzzIndex parses an index whose footer says anything about it.
func FuzzIndex(f *testing.F) {
	x := index{places: []place{{48, 100}, {60, 120}, {100, 140}}, sums: make([]sums, 2)}
	x.spans, x.fences = newSpans(nil, nil, [][]byte{[]byte("a"), []byte("ab")}, 0)
	f.Add(x.append(nil), uint32(2), uint32(1), uint64(100), uint64(140), []byte("aa"))
	f.Fuzz(func(t *testing.T, p []byte, blocks, spans uint32, keys, filter uint64, key []byte) {
		id := headerOf(1, [16]byte{})
		foot := footer{keys: keys, filter: filter, index: filter, blocks: blocks, spans: spans}
		size := filter + uint64(len(p)) + FooterSize
		parsed, err := parseFooter(foot.append(nil, id), id, size)
		if err != nil || size < filter {
			return
		}
		if parsed != foot {
			t.Fatalf("footer %+v comes back as %+v", foot, parsed)
		}
		x, err := parseIndex(p, parsed)
		if err != nil {
			return
		}
		if b := x.search(key); b < -1 || b >= len(x.fences) {
			t.Fatalf("find = %d of %d", b, len(x.fences))
		}
	})
}
