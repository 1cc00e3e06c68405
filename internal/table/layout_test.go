package table

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
)

// layoutOf returns the layout of a table file.
func layoutOf(t testing.TB, image []byte) (*Layout, []error) {
	t.Helper()
	fs := newFS(t)
	f, err := fs.Create(testPath)
	if err == nil {
		_, err = f.WriteAt(image, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, damage, err := ReadLayout(f, testPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range damage {
		if !damaged(err) {
			t.Fatal(err)
		}
	}
	return l, damage
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
		case at >= headerBytes && int64(at) < whole.Filter: // within one part of one block
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
