package cryptfs

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/vectors.txt")

// counted returns n bytes from a first one on, each one more than the one before.
func counted(first byte, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = first + byte(i)
	}
	return p
}

// listing is files as text.
type listing struct{ strings.Builder }

func (l *listing) add(name string, p []byte) {
	fmt.Fprintf(l, "%s, %d bytes\n", name, len(p))
	for len(p) > 0 {
		n := min(32, len(p))
		fmt.Fprintf(l, "  %s\n", hex.EncodeToString(p[:n]))
		p = p[n:]
	}
}

// TestFormat_hasTheDocumentedBytes makes the files of docs/format.md of fixed keys and salts. They
// must never change.
func TestFormat_hasTheDocumentedBytes(t *testing.T) {
	k, err := NewKey(counted(0x00, KeyBytes))
	ok(t, err)
	data, err := k.newDataKey(counted(0x20, KeyBytes))
	ok(t, err)
	var out listing
	out.add("user's key", k.secret)
	out.add("data key", data.secret)

	wrapped := make([]byte, wrapBytes)
	copy(wrapped[wrapSaltAt:], counted(0x40, saltBytes))
	ok(t, k.wrapInto(wrapped, data))
	out.add("KEY-000001", wrapped)
	if w := parseWrapping("KEY-000001", wrapped); w.verify(k, data) != nil {
		t.Error("the wrapping does not verify")
	}
	out.add("000001.table with the content \"least weasel\"", fixedPages(t, data))
	out.add("000002.log with the content \"least weasel\", a sync, and \", stoat\"",
		fixedChunks(t, data))

	const name = "testdata/vectors.txt"
	if *update {
		ok(t, os.WriteFile(name, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(name)
	ok(t, err)
	if !bytes.Equal([]byte(out.String()), want) {
		t.Errorf("other bytes:\n%s", out.String())
	}
}

// fixedHeader returns a header with a fixed salt, and the keys of its file.
func fixedHeader(t *testing.T, data *dataKey, l layout) ([]byte, fileKeys) {
	t.Helper()
	p := make([]byte, headerBytes)
	copy(p[saltAt:], counted(0x60, saltBytes))
	keys, err := data.seal(p, l)
	ok(t, err)
	return p, keys
}

func fixedPages(t *testing.T, data *dataKey) []byte {
	t.Helper()
	const name = "db/000001.table"
	inner := newMemory(t)
	f, err := inner.Create(name)
	ok(t, err)
	p, keys := fixedHeader(t, data, paged)
	pages := newPageWriter(f, name, p, keys)
	_, err = pages.WriteAt([]byte("least weasel"), 0)
	ok(t, err)
	ok(t, pages.Close())
	return stored(t, inner, name)
}

func fixedChunks(t *testing.T, data *dataKey) []byte {
	t.Helper()
	const name = "db/000002.log"
	inner := newMemory(t)
	f, err := inner.Create(name)
	ok(t, err)
	p, keys := fixedHeader(t, data, chunked)
	chunks := newChunkWriter(f, name, p, keys)
	chunks.forget = func() {}
	_, err = chunks.WriteAt([]byte("least weasel"), 0)
	ok(t, err)
	ok(t, chunks.Sync())
	_, err = chunks.WriteAt([]byte(", stoat"), 12)
	ok(t, err)
	ok(t, chunks.Close())
	return stored(t, inner, name)
}
