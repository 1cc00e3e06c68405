package table

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// layoutOf returns the layout of a table file.
func layoutOf(t testing.TB, image []byte) (*Layout, []Damage) {
	t.Helper()
	return layoutAs(t, image, Want{})
}

// layoutAs returns the layout of a table file that should be as wanted.
func layoutAs(t testing.TB, image []byte, want Want) (*Layout, []Damage) {
	t.Helper()
	l, damage := ReadLayout(fileOf(t, newFS(t), image), testPath, want)
	for _, d := range damage {
		if !damaged(d.Err) {
			t.Fatal(d.Err)
		}
	}
	return l, damage
}

// fileOf returns a table file with these bytes.
func fileOf(t testing.TB, fs vfs.Files, image []byte) vfs.File {
	t.Helper()
	f, err := fs.Create(testPath)
	if err == nil {
		_, err = f.WriteAt(image, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readBlocks returns how many blocks of a table are intact, and how many entries of want are in
// them.
func readBlocks(t testing.TB, l *Layout, want []entry) (intact, found int) {
	t.Helper()
	var d block.Decompressor
	for i := range l.Blocks {
		keys, err := l.ReadKeys(i)
		count := keys.Len()
		if err != nil {
			count = -1
		}
		values, valuesErr := l.ReadValues(i, count, &d)
		if err != nil || valuesErr != nil {
			continue
		}
		intact++
		flat := keys.Expand()
		for j := range keys.Len() {
			for len(want) > 0 && bytes.Compare(want[0].key, flat.At(j)) < 0 {
				want = want[1:]
			}
			same := len(want) > 0 && bytes.Equal(want[0].key, flat.At(j)) &&
				keys.Kind(j) == want[0].kind
			if !same || values.Codec != block.Pattern && !bytes.Equal(values.Plain.At(j), want[0].value) {
				t.Fatalf("entry %d of block %d is %q", j, i, flat.At(j))
			}
			found++
		}
	}
	return intact, found
}

func TestReadLayout_findsAllBlocks(t *testing.T) {
	entries := messages(2000, rand.New(rand.NewSource(1)))
	for name, o := range map[string]WriterOptions{
		"raw": {Filter: true}, "zstd": {Encoding: zipped()}, "pattern": {Encoding: encoded()},
	} {
		fs := newFS(t)
		s := writeTable(t, fs, testPath, o, entries)
		l, damage := layoutOf(t, readFile(t, fs, testPath, int64(s.Size)))
		intact, found := readBlocks(t, l, entries)
		if len(damage) > 0 || intact != len(l.Blocks) || found != len(entries) {
			t.Errorf("%s: %d of %d blocks, %d entries, damage %v", name, intact, len(l.Blocks), found,
				damage)
		}
		if l.Number != 7 || l.Database != testDatabase() ||
			l.Entries != 2000 || l.RawBytes != s.RawBytes ||
			(l.Filter < l.Index) != o.Filter || len(l.Spans) == 0 {
			t.Errorf("%s: the layout is %+v", name, l)
		}
	}
}

func TestReadLayout_goesOnBehindEveryFlippedByte(t *testing.T) {
	entries, image := smallTable(t)
	whole, _ := layoutOf(t, image)
	for at := range image {
		image[at] ^= 0x10
		l, damage := layoutOf(t, image)
		intact, _ := readBlocks(t, l, entries)
		switch lost := len(l.Blocks) - intact; {
		case at >= fileheader.Size && int64(at) < whole.Filter: // within one part of one block
			if len(damage) > 0 || lost != 1 || len(l.Blocks) != len(whole.Blocks) {
				t.Fatalf("byte %d is flipped: %d blocks are lost, damage %v", at, lost, damage)
			}
		case len(damage) != 1 || lost != 0:
			t.Fatalf("byte %d is flipped: %d blocks are lost, damage %v", at, lost, damage)
		case int64(at) < whole.Index && len(l.Blocks) != len(whole.Blocks):
			t.Fatalf("byte %d is flipped: only %d blocks are found", at, len(l.Blocks))
		}
		image[at] ^= 0x10
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

func TestReadLayout_readsATableThatIsCutOffAnywhere(t *testing.T) {
	_, image := smallTable(t)
	for n := range image {
		if l, damage := layoutOf(t, image[:n]); len(damage) == 0 || len(l.Blocks) > 0 {
			t.Fatalf("of %d of %d bytes, %d blocks are found", n, len(image), len(l.Blocks))
		}
	}
	t.Logf("trust: %d cut lengths", len(image))
}

// wanted is what the tables of the tests are.
func wanted(size int64) Want { return Want{Number: 7, Database: testDatabase(), Size: size} }

// entriesOf returns how many blocks have their keys and how many their values. It fails the test
// if a key or a value is none of entries, or a key is outside of the span of its block.
func entriesOf(t testing.TB, l *Layout, entries []entry) (withKeys, withValues int) {
	t.Helper()
	want := make(map[string]entry)
	for _, e := range entries {
		want[string(e.key)] = e
	}
	var d block.Decompressor
	for i := range l.Blocks {
		span := l.Span(i)
		keys, err := l.ReadKeys(i)
		if err != nil {
			continue
		}
		withKeys++
		values, err := l.ReadValues(i, keys.Len(), &d)
		if err == nil {
			withValues++
		}
		full := keys.Expand()
		for k := range keys.Len() {
			e, ok := want[string(full.At(k))]
			if !ok || !span.Contains(full.At(k)) {
				t.Fatalf("key %q of block %d in %q: %v", full.At(k), i, span, ok)
			}
			if err != nil {
				continue
			}
			got := keyspace.Entry{Kind: keys.Kind(k)}
			if values.Codec == block.Pattern {
				values.Encoded.Entry(k, &got)
			} else {
				got.Value = values.Plain.At(k)
			}
			if got.Kind != e.kind || !bytes.Equal(decoded(t, got), e.value) {
				t.Fatalf("key %q has another value", full.At(k))
			}
		}
	}
	return withKeys, withValues
}

func TestReadLayout_losesOnlyWhatIsDamaged(t *testing.T) {
	entries, image := smallTable(t)
	whole, _ := layoutOf(t, image)
	all := len(whole.Blocks)
	if all < 2 {
		t.Fatalf("%d blocks are too few", all)
	}
	for at := range image {
		image[at] ^= 0x20
		l, damage := layoutAs(t, image, wanted(int64(len(image))))
		image[at] ^= 0x20
		if inIndex := int64(at) >= whole.Index; len(l.Blocks) == 0 {
			if !inIndex {
				t.Fatalf("byte %d of %d: %v", at, len(image), damage)
			}
			continue
		}
		inBlock := at >= fileheader.Size && int64(at) < whole.Filter
		if (len(damage) > 0) == inBlock {
			t.Fatalf("byte %d: the damage is %v", at, damage)
		}
		keys, values := entriesOf(t, l, entries)
		if keys < all-1 || values < all-1 || !inBlock && (keys < all || values < all) {
			t.Fatalf("byte %d: the keys of %d and the values of %d of %d blocks", at, keys, values, all)
		}
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

func TestReadLayout_findsTheFooterByTheSizeThatIsWanted(t *testing.T) {
	entries, image := smallTable(t)
	size := int64(len(image))
	longer := append(bytes.Clone(image), "and something more"...)
	l, damage := layoutAs(t, longer, wanted(size))
	if keys, _ := entriesOf(t, l, entries); keys != len(l.Blocks) || keys == 0 ||
		len(damage) != 1 || damage[0].At != size || l.Size != int64(len(longer)) {
		t.Errorf("a longer file: %d blocks, %v", keys, damage)
	}
	for _, n := range []int64{0, 1, fileheader.Size, size - FooterSize, size - 1} {
		if l, damage := layoutAs(t, image[:n], wanted(size)); len(l.Blocks) > 0 || len(damage) != 1 {
			t.Errorf("a file of %d bytes: %d blocks, %v", n, len(l.Blocks), damage)
		}
	}
	for _, want := range []Want{{Number: 8}, {Database: [16]byte{1}}} {
		l, damage := layoutAs(t, image, want)
		if len(l.Blocks) > 0 || len(damage) != 2 || damage[1].At != l.Footer {
			t.Errorf("wanted %v: %d blocks, %v", want, len(l.Blocks), damage)
		}
	}
}

func TestReadLayout_goesOnBehindWhatCannotBeRead(t *testing.T) {
	entries, image := smallTable(t)
	whole, _ := layoutOf(t, image)
	for name, at := range map[string]int64{
		"header": 0, "filter": whole.Filter, "index": whole.Index, "footer": whole.Footer,
	} {
		fs := faultfs.New(newFS(t).(vfs.FS), func(op faultfs.Op) error {
			if op.Kind == faultfs.ReadAt && op.Offset == at {
				return errors.New("input/output error")
			}
			return nil
		})
		l, damage := ReadLayout(fileOf(t, fs, image), testPath, Want{})
		if len(damage) != 1 || damage[0].At != at || damaged(damage[0].Err) {
			t.Errorf("%s: the damage is %v", name, damage)
		}
		keys, _ := entriesOf(t, l, entries)
		if (keys == len(whole.Blocks)) != (at < whole.Index) {
			t.Errorf("%s: the keys of %d of %d blocks", name, keys, len(whole.Blocks))
		}
	}
}

func TestReadLayout_tellsWhereTheKeysOfBlocksLie(t *testing.T) {
	for name, entries := range shapes(rand.New(rand.NewSource(1))) {
		fs := newFS(t)
		s := writeTable(t, fs, testPath, WriterOptions{BlockBytes: 300}, entries)
		l, _ := layoutOf(t, readFile(t, fs, testPath, int64(s.Size)))
		keys, values := entriesOf(t, l, entries)
		if all := len(l.Blocks); keys != all || values != all {
			t.Errorf("%s: %d and %d of %d blocks", name, keys, values, all)
		}
	}
}
