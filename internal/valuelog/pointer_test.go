package valuelog

import (
	"bytes"
	"math"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestPointer_isReadBack(t *testing.T) {
	for _, want := range []Pointer{
		{}, {1, 2, 3, 4}, {math.MaxUint64, math.MaxInt64, 0, math.MaxUint32},
		{9, math.MaxInt64 - maxValueBytes, maxValueBytes, 0},
	} {
		p := want.Append([]byte("x"))
		if got, err := ParsePointer(p[1:]); err != nil || got != want || p[0] != 'x' {
			t.Errorf("%+v comes back as %+v, %v", want, got, err)
		}
	}
}

func TestPointer_isLittleEndian(t *testing.T) {
	got := Pointer{0x0807060504030201, 0x100F0E0D0C0B0A09, 0x14131211, 0x18171615}.Append(nil)
	for i, b := range got {
		if len(got) != PointerBytes || int(b) != i+1 {
			t.Fatalf("the encoding is % x", got)
		}
	}
}

func TestParsePointer_refusesWhatCannotBe(t *testing.T) {
	for name, p := range map[string][]byte{
		"empty":    nil,
		"short":    make([]byte, PointerBytes-1),
		"long":     make([]byte, PointerBytes+1),
		"length":   Pointer{Length: maxValueBytes + 1}.Append(nil),
		"offset":   Pointer{Offset: math.MaxInt64 + 1}.Append(nil),
		"overflow": Pointer{Offset: math.MaxInt64, Length: 1}.Append(nil),
		"wrap":     Pointer{Offset: math.MaxUint64, Length: 1}.Append(nil),
	} {
		if got, err := ParsePointer(p); err == nil {
			t.Errorf("%s: parsed as %+v", name, got)
		}
	}
}

func TestPointer_canHaveEveryValue(t *testing.T) {
	if maxValueBytes != keyspace.MaxValueBytes {
		t.Errorf("the longest value has %d bytes, and for a database %d", maxValueBytes,
			keyspace.MaxValueBytes)
	}
}

// FuzzParse parses anything as a pointer and reads through it, and anything as a value file.
func FuzzParse(f *testing.F) {
	h := fileheader.New(fileheader.Values, 7, testDatabase()).Bytes()
	value := []byte("value")
	f.Add(NewPointer(7, fileheader.Size, value).Append(nil), append(bytes.Clone(h[:]), value...))
	f.Add(NewPointer(7, fileheader.Size, value).Append(nil), append(bytes.Clone(h[:]), "valve"...))
	f.Add(NewPointer(7, fileheader.Size, value).Append(nil), h[:40])
	f.Add(Pointer{7, fileheader.Size, 1 << 30, 0}.Append(nil), append(bytes.Clone(h[:]), value...))
	f.Fuzz(func(t *testing.T, encoded, image []byte) {
		p, err := ParsePointer(encoded)
		if err != nil {
			return
		}
		if back := p.Append(nil); !bytes.Equal(back, encoded) {
			t.Fatalf("% x comes back as % x", encoded, back)
		}
		for _, maps := range []bool{true, false} {
			file := fileOf(t, image, int64(len(image)), maps)
			file.Prefetch([]Pointer{p, p})
			if v, err := file.Read(p); err == nil && NewPointer(p.File, p.Offset, v) != p {
				t.Fatalf("%+v gives %q", p, v)
			} else if err != nil && !damaged(err) {
				t.Fatal(err)
			}
		}
	})
}
