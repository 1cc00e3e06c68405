package object

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
)

// An edit is not divided, and cannot be, so one of very many tables takes a large object.
func TestLog_withAnEditMayBeLarge(t *testing.T) {
	c := newCodec(t)
	l := exampleParts()
	l.Parts = []Part{{Edit: manyTables(t, 2*LogBytesMax/64)}}
	p, err := c.EncodeLog(l)
	check(t, err)
	if len(p) <= 2*LogBytesMax {
		t.Fatalf("it has %d bytes", len(p))
	}
	got, err := c.DecodeLog("log/2", p)
	check(t, err)
	if n := len(got.Parts[0].Edit.AddBottom); n != len(l.Parts[0].Edit.AddBottom) {
		t.Errorf("%d tables are left", n)
	}
	if _, err := c.DecodeLog("log/2", p[:len(p)-1]); !errors.Is(err, corrupt.Err) {
		t.Errorf("cut off: %v", err)
	}
	l.Parts = append(exampleParts().Parts[:1], l.Parts...)
	if _, err := c.EncodeLog(l); !errors.Is(err, ErrTooLarge) {
		t.Errorf("with commits, which would wait for it: %v", err)
	}
	p, err = c.seal(&l.Header, logKind, version, l.unsealed())
	check(t, err)
	if _, err := c.DecodeLog("log/2", p); !errors.Is(err, corrupt.Err) {
		t.Errorf("with commits, it is decoded: %v", err)
	}
}

// manyTables returns an edit that adds n tables, with random keys.
func manyTables(t *testing.T, n int) *manifest.Edit {
	t.Helper()
	rng := rand.NewChaCha8([32]byte{1})
	e := &manifest.Edit{LastCommit: 1, NextNumber: uint64(n) + 1}
	for i := range n {
		key := binary.BigEndian.AppendUint32([]byte{0x10}, uint32(i))
		key = append(key, make([]byte, 64)...)
		_, _ = rng.Read(key[5:])
		e.AddBottom = append(e.AddBottom, &manifest.Table{
			Number: uint64(i) + 1, Size: 300, Entries: 1, RawBytes: 2, Smallest: key, Largest: key,
		})
	}
	return e
}
