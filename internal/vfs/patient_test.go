package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// failing returns a patient file with the given content that cannot be read where broken is true of
// one of the bytes.
func failing(t testing.TB, data []byte, broken func(at int64) bool) *vfs.Patient {
	t.Helper()
	fs := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind != faultfs.ReadAt {
			return nil
		}
		for at := op.Offset; at < op.Offset+int64(op.Bytes); at++ {
			if broken(at) {
				return errors.New("input/output error")
			}
		}
		return nil
	})
	f, err := fs.Create("file")
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return vfs.NewPatient(f)
}

func TestPatient_readsZerosForWhatTheDiskDoesNotGive(t *testing.T) {
	const piece = 4 << 10
	data := bytes.Repeat([]byte("x"), 10*piece+100)
	f := failing(t, data, func(at int64) bool {
		return at == piece+7 || at == 2*piece || at == int64(len(data))-1
	})
	want := bytes.Clone(data)
	clear(want[piece : 3*piece])
	clear(want[10*piece:])
	got := make([]byte, len(data))
	for _, from := range []int{0, 1, piece + 8, 5 * piece} {
		n, err := f.ReadAt(got[from:], int64(from))
		expected := want[from:]
		if from == piece+8 { // the byte that is broken is not asked for
			expected = bytes.Clone(expected)
			copy(expected[:piece-8], data)
		}
		if n != len(expected) || err != nil || !bytes.Equal(got[from:], expected) {
			t.Fatalf("from %d: %d bytes, %v", from, n, err)
		}
	}
	var holes []int64
	for _, h := range f.Holes() {
		holes = append(holes, h.At, h.End)
		if h.Err == nil {
			t.Errorf("no error with %v", h)
		}
	}
	if !slices.Equal(holes, []int64{piece, 3 * piece, 10 * piece, int64(len(data))}) {
		t.Errorf("the holes are %d", holes)
	}
	if n := f.Unread(2*piece, 10*piece+1); n != piece+1 {
		t.Errorf("%d bytes are unread", n)
	}
	if vfs.NewPatient(f) != f {
		t.Error("a patient file is wrapped twice")
	}
}

func TestPatient_endsWhereTheFileDoes(t *testing.T) {
	f := failing(t, make([]byte, 9000), func(at int64) bool { return at == 0 })
	for _, from := range []int64{0, 5000} {
		n, err := f.ReadAt(make([]byte, 10_000), from)
		if n != 9000-int(from) || !errors.Is(err, io.EOF) {
			t.Errorf("from %d: %d bytes, %v", from, n, err)
		}
	}
}
