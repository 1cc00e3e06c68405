package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// verified is what a verification has told.
type verified struct {
	damage  []error
	entries []entry
	bytes   uint64
}

// verify verifies a table to its end.
func verify(t testing.TB, table *Table) (v verified, s Summary, whole bool) {
	t.Helper()
	s, whole, err := table.Verify(Verification{
		Damage: func(err error) { v.damage = append(v.damage, err) },
		Entry: func(key []byte, e keyspace.Entry) error {
			v.entries = append(v.entries, entry{bytes.Clone(key), bytes.Clone(e.Value), e.Kind})
			return nil
		},
		Read: func(bytes uint64) error {
			v.bytes += bytes
			return nil
		},
	})
	if err != nil || whole != (len(v.damage) == 0) {
		t.Fatalf("error %v, whole is %v with damage %v", err, whole, v.damage)
	}
	return v, s, whole
}

func TestVerify_countsWhatTheWriterCounted(t *testing.T) {
	entries := append(puts("a", "b", "c\xff"), messages(200, rand.New(rand.NewSource(3)))...)
	for i := range entries {
		entries[i].key = append([]byte{byte(i)}, entries[i].key...)
		if i%7 == 0 {
			entries[i].kind, entries[i].value = keyspace.KindDelete, []byte{}
		}
	}
	for name, o := range map[string]WriterOptions{
		"raw":     {},
		"filter":  {Filter: true, BlockBytes: 700},
		"zstd":    {Encoding: zipped(), BlockBytes: 4000},
		"pattern": {Encoding: encoded(), BlockBytes: 4000, Filter: true},
	} {
		for _, mapped := range []bool{true, false} {
			fs, cache := newFS(t), NewCache(1<<20)
			want := writeTable(t, fs, testPath, o, entries)
			if !mapped {
				fs = noMapFS{fs}
			}
			table := configured(fs, int64(want.Size), cache)
			v, got, whole := verify(t, table)
			if !whole || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v\nwant %+v\ndamage: %v", name, got, want, v.damage)
			}
			if !reflect.DeepEqual(v.entries, entries) || v.bytes != want.Size || cache.Bytes() > 0 {
				t.Errorf("%s: %d of %d entries, %d of %d bytes; %d bytes in the cache", name,
					len(v.entries), len(entries), v.bytes, want.Size, cache.Bytes())
			}
			says, err := table.VerifyIndex()
			if err != nil || says.Entries != want.Entries || says.Tombstones != want.Tombstones ||
				says.RawBytes != want.RawBytes || says.Size != want.Size {
				t.Errorf("%s: the table says %+v of itself, error %v", name, says, err)
			}
		}
	}
}

func configured(fs vfs.Files, size int64, cache *Cache) *Table {
	return New(Config{
		FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: size, Cache: cache,
		Dictionaries: []*block.Dictionary{testDictionary()},
	})
}

func TestVerify_findsEveryFlippedByte(t *testing.T) {
	_, image := smallTable(t)
	for at := range image {
		image[at] ^= []byte{0x01, 0x80, 0xFF}[at%3]
		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		if v, _, _ := verify(t, table); len(v.damage) != 1 {
			t.Fatalf("byte %d is flipped, found: %v", at, v.damage)
		}
		image[at] ^= []byte{0x01, 0x80, 0xFF}[at%3]
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

// resealed returns image with its filter and index changed, and checksums to fit.
func resealed(image []byte, change func(filter, index []byte, f *footer)) []byte {
	image = bytes.Clone(image)
	id := headerOf(7, testDatabase())
	at := len(image) - FooterSize
	f, err := parseFooter(image[at:], id, uint64(len(image)))
	if err != nil {
		panic(err)
	}
	filter, index := image[f.filter:f.index], image[f.index:at]
	change(filter, index, &f)
	f.filterSum, f.indexSum = checksum.Of(filter), checksum.Of(index)
	copy(image[at:], f.append(nil, id))
	return image
}

func TestVerify_findsWhatChecksumsDoNotTell(t *testing.T) {
	entries, image := smallTable(t)
	for name, c := range map[string]struct {
		change func(filter, index []byte, f *footer)
		want   string
	}{
		"a fence that is too small": {func(_, index []byte, f *footer) {
			at := 8 * (int(f.blocks) - 1)
			binary.LittleEndian.PutUint64(index[at:], binary.LittleEndian.Uint64(index[at:])-1)
		}, "another fence"},
		"another first key of a span": {func(_, index []byte, f *footer) {
			index[len(index)-propertiesBytes-1] ^= 1
		}, "another first key"},
		"a count of entries": {func(_, index []byte, _ *footer) {
			index[len(index)-propertiesBytes]++
		}, "properties"},
		"a count of tombstones": {func(_, index []byte, _ *footer) {
			index[len(index)-propertiesBytes+8]++
		}, "properties"},
		"no compression": {func(_, index []byte, _ *footer) {
			index[len(index)-8] ^= 1
		}, "properties"},
		"a filter of other keys": {func(filter, _ []byte, _ *footer) {
			for i := range filter[16:] {
				filter[16+i] ^= byte(i)
			}
		}, "filter lacks"},
	} {
		changed := resealed(image, c.change)
		v, _, _ := verify(t, tableOf(t, changed, int64(len(changed)), NewCache(1<<20)))
		if len(v.damage) != 1 || !strings.Contains(v.damage[0].Error(), c.want) || !damaged(v.damage[0]) {
			t.Errorf("%s: found %v, want %q", name, v.damage, c.want)
		}
	}
	v, _, _ := verify(t, tableOf(t, image, int64(len(image)), NewCache(1<<20)))
	if len(v.damage) > 0 || len(v.entries) != len(entries) {
		t.Errorf("what is not changed is damaged: %v", v.damage)
	}
}

func TestVerify_findsBlocksThatHaveChangedPlaces(t *testing.T) {
	fs := newFS(t)
	entries := puts("\x10aaaa1", "\x10aaaa2", "\x10aaaa3", "\x10aaaa4")
	s := writeTable(t, fs, testPath, WriterOptions{BlockBytes: 1}, entries)
	image := readFile(t, fs, testPath, int64(s.Size))
	r, err := openReader(configured(fs, int64(s.Size), NewCache(1<<20)).config)
	if err != nil {
		t.Fatal(err)
	}
	p := r.index.places
	a, b := image[p[1].keys:p[2].keys], image[p[2].keys:p[3].keys]
	if len(p) != 5 || len(a) != len(b) {
		t.Fatalf("blocks are at %v, so that nothing is tested", p)
	}
	first := bytes.Clone(a)
	copy(a, b)
	copy(b, first)
	v, _, _ := verify(t, tableOf(t, image, int64(len(image)), NewCache(1<<20)))
	if all := errors.Join(v.damage...); all == nil ||
		!strings.Contains(all.Error(), "not the one in the index") {
		t.Errorf("two blocks have changed places, found: %v", all)
	}
}

func TestVerify_readsARemovedFileThatIsOpen(t *testing.T) {
	fs := newFS(t)
	entries := puts("a", "b")
	s := writeTable(t, fs, testPath, WriterOptions{Filter: true}, entries)
	table := configured(fs, int64(s.Size), NewCache(1<<20))
	if err := errors.Join(table.Open(), fs.Remove(testPath)); err != nil {
		t.Fatal(err)
	}
	if v, _, whole := verify(t, table); !whole || len(v.entries) != 2 {
		t.Errorf("found %v", v.damage)
	}
	v, _, whole := verify(t, configured(fs, int64(s.Size), NewCache(1<<20)))
	if whole || !damaged(v.damage[0]) {
		t.Errorf("of a missing file: %v", v.damage)
	}
}

func TestVerify_endsWhenItIsToldTo(t *testing.T) {
	fs := newFS(t)
	s := writeTable(t, fs, testPath, WriterOptions{BlockBytes: 1}, puts("a", "b", "c"))
	enough, seen := errors.New("enough"), 0
	_, _, err := configured(fs, int64(s.Size), NewCache(1<<20)).Verify(Verification{
		Damage: func(err error) { t.Error(err) },
		Entry:  func([]byte, keyspace.Entry) error { seen++; return nil },
		Read: func(uint64) error {
			if seen == 2 {
				return enough
			}
			return nil
		},
	})
	if !errors.Is(err, enough) || seen != 2 {
		t.Errorf("error %v after %d entries", err, seen)
	}
}
