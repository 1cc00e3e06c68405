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

// TestFormat_hasTheDocumentedBytes makes the files of docs/format.md of fixed keys and salts. They
// must never change.
func TestFormat_hasTheDocumentedBytes(t *testing.T) {
	k, err := NewKey(counted(0x00, KeyBytes))
	ok(t, err)
	data, err := k.newDataKey(counted(0x20, KeyBytes))
	ok(t, err)
	var out strings.Builder
	show := func(name string, p []byte) {
		fmt.Fprintf(&out, "%s, %d bytes\n", name, len(p))
		for len(p) > 0 {
			n := min(32, len(p))
			fmt.Fprintf(&out, "  %s\n", hex.EncodeToString(p[:n]))
			p = p[n:]
		}
	}
	show("user's key", k.secret)
	show("data key", data.secret)

	wrapped := make([]byte, wrapBytes)
	copy(wrapped[wrapSaltAt:], counted(0x40, saltBytes))
	ok(t, k.wrapInto(wrapped, data))
	show("KEY-000001", wrapped)
	if w := parseWrapping("KEY-000001", wrapped); w.verify(k, data) != nil {
		t.Error("the wrapping does not verify")
	}

	header := func(l layout) ([]byte, fileKeys) {
		p := make([]byte, headerBytes)
		copy(p[saltAt:], counted(0x60, saltBytes))
		keys, err := data.seal(p, l)
		ok(t, err)
		return p, keys
	}
	inner := newMemory(t)
	f, err := inner.Create("db/000001.table")
	ok(t, err)
	p, keys := header(paged)
	pages := newPageWriter(f, "db/000001.table", p, keys)
	_, err = pages.WriteAt([]byte("least weasel"), 0)
	ok(t, err)
	ok(t, pages.Close())
	show("000001.table with the content \"least weasel\"", stored(t, inner, "db/000001.table"))

	f, err = inner.Create("db/000002.log")
	ok(t, err)
	p, keys = header(chunked)
	chunks := newChunkWriter(f, "db/000002.log", p, keys)
	chunks.forget = func() {}
	_, err = chunks.WriteAt([]byte("least weasel"), 0)
	ok(t, err)
	ok(t, chunks.Sync())
	_, err = chunks.WriteAt([]byte(", stoat"), 12)
	ok(t, err)
	ok(t, chunks.Close())
	show("000002.log with the content \"least weasel\", a sync, and \", stoat\"",
		stored(t, inner, "db/000002.log"))

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
