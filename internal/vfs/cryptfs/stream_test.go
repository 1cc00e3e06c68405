package cryptfs

import (
	"bytes"
	"io"
	"testing"
)

// FuzzOpener changes a byte of a wrapped key and of a stream under it, cuts the stream off, and
// says that it has another length. It wants nothing to be read but the content, front to back.
func FuzzOpener(f *testing.F) {
	k, err := NewKey(key(1))
	ok(f, err)
	sealer, err := NewSealer(k)
	ok(f, err)
	wrappings, err := sealer.Wrappings()
	ok(f, err)
	content := text(2*pageData + 100)
	var sealed bytes.Buffer
	w, err := sealer.Seal(&sealed)
	ok(f, err)
	_, err = w.Write(content)
	ok(f, err)
	ok(f, w.Close())
	if size := sealer.Size(int64(len(content))); int64(sealed.Len()) != size {
		f.Fatalf("the stream has %d bytes, not %d", sealed.Len(), size)
	}
	whole := sealed.Bytes()
	f.Add(uint16(0), byte(0), uint32(0), byte(0), uint32(len(whole)), int64(len(whole)))
	f.Add(uint16(60), byte(1), uint32(0), byte(0), uint32(len(whole)), int64(len(whole)))
	f.Add(uint16(0), byte(0), uint32(pageBytes+9), byte(8), uint32(len(whole)), int64(len(whole)))
	f.Add(uint16(0), byte(0), uint32(0), byte(0), uint32(pageBytes), int64(pageBytes))
	f.Add(uint16(0), byte(0), uint32(0), byte(0), uint32(100), int64(-1))
	f.Fuzz(func(
		t *testing.T, keyAt uint16, keyFlip byte, at uint32, flip byte, end uint32, stored int64,
	) {
		wrapping := bytes.Clone(wrappings[0])
		wrapping[int(keyAt)%len(wrapping)] ^= keyFlip
		opener := NewOpener(k)
		if err := opener.Unwrap("KEY-000001", wrapping); err != nil {
			if keyFlip == 0 {
				t.Errorf("the key is refused: %v", err)
			}
			return
		}
		stream := bytes.Clone(whole)
		stream[int(at)%len(stream)] ^= flip
		stream = stream[:min(int(end), len(stream))]
		r, size, err := opener.Open("stream", bytes.NewReader(stream), stored)
		if err != nil {
			return
		}
		got, err := io.ReadAll(r)
		if !bytes.HasPrefix(content, got) {
			t.Errorf("the %d bytes that are read are not those that were written", len(got))
		}
		if err == nil && int64(len(got)) != size {
			t.Errorf("%d bytes are read of a file of %d", len(got), size)
		}
		if stored == int64(len(whole)) && len(stream) == len(whole) && (err == nil) != (flip == 0) {
			t.Errorf("byte %d changed by %d: %v", at, flip, err)
		}
	})
}
