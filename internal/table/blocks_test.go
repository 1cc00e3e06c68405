package table

import (
	"bytes"
	"math/rand"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// blocksOf opens a table file with these bytes.
func blocksOf(t testing.TB, image []byte) (*Blocks, error) {
	t.Helper()
	fs := newFS(t)
	path := filepath.Join(filepath.Dir(testPath), "blocks")
	f, err := fs.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(image, 0); err != nil {
		t.Fatal(err)
	}
	return OpenBlocks(Config{FS: fs, Path: path, Number: 7, Database: testDatabase()},
		new(block.Decompressor))
}

// readBlocks returns how many blocks have their keys and how many their values. It fails the test
// if a key or a value is none of entries, or a key is outside of the span of its block.
func entriesOf(t testing.TB, b *Blocks, entries []entry) (withKeys, withValues int) {
	t.Helper()
	want := make(map[string]entry)
	for _, e := range entries {
		want[string(e.key)] = e
	}
	for i := range b.Len() {
		span := b.Span(i)
		keys, err := b.Keys(i)
		if err != nil {
			continue
		}
		withKeys++
		values, err := b.Values(i, keys.Len())
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

func TestBlocks_losesOnlyWhatIsDamaged(t *testing.T) {
	entries, image := smallTable(t)
	b, err := blocksOf(t, image)
	if err != nil {
		t.Fatal(err)
	}
	footer := len(image) - footerBytes
	all := b.Len()
	if all < 2 {
		t.Fatalf("%d blocks are too few", all)
	}
	for at := range image {
		damaged := bytes.Clone(image)
		damaged[at] ^= 0x20
		b, err := blocksOf(t, damaged)
		if err != nil {
			if !inIndex(at, footer, image) {
				t.Fatalf("byte %d of %d: %v", at, len(image), err)
			}
			continue
		}
		if flawed := b.Flaw() != nil; flawed != (at < headerBytes) {
			t.Fatalf("byte %d: the flaw is %v", at, b.Flaw())
		}
		keys, values := entriesOf(t, b, entries)
		if keys < all-1 || values < all-1 {
			t.Fatalf("byte %d: the keys of %d and the values of %d of %d blocks", at, keys, values, all)
		}
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

// inIndex reports whether the byte at is part of the index or the footer.
func inIndex(at, footer int, image []byte) bool {
	f, err := parseFooter(image[footer:], identity{7, testDatabase()}, uint64(len(image)))
	return err == nil && uint64(at) >= f.index
}

func TestBlocks_tellWhereTheirKeysLie(t *testing.T) {
	for name, entries := range shapes(rand.New(rand.NewSource(1))) {
		fs := newFS(t)
		s := writeTable(t, fs, testPath, WriterOptions{BlockBytes: 300}, entries)
		b, err := blocksOf(t, readFile(t, fs, testPath, int64(s.Size)))
		if err != nil {
			t.Fatal(err)
		}
		if keys, values := entriesOf(t, b, entries); keys != b.Len() || values != b.Len() {
			t.Errorf("%s: %d and %d of %d blocks", name, keys, values, b.Len())
		}
	}
}
