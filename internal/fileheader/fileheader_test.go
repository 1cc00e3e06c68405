package fileheader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

var sample = Header{Table, 7, [16]byte{0xdb, 1, 2, 3}}

// The header of "A small table" in docs/format.md.
func TestBytes_areThoseOfTheFormat(t *testing.T) {
	want := []byte("STOATTAB\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00" +
		"\xdb\x01\x02\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x2a\x2f\xcf\xc6")
	got := sample.Bytes()
	if !bytes.Equal(got[:], want) {
		t.Errorf("got % x", got)
	}
	if !bytes.Equal(sample.Prefix(), want[:40]) {
		t.Errorf("prefix % x", sample.Prefix())
	}
	computed, stored := Seeds(want)
	if seed := sample.Seed(); seed != computed || seed != stored {
		t.Errorf("seeds %08x, %08x and %08x", seed, computed, stored)
	}
}

func TestParse_returnsWhatWasWritten(t *testing.T) {
	for _, kind := range Kinds() {
		want := Header{kind, 1<<61 + 5, [16]byte{15: 9}}
		p := want.Bytes()
		got, sealed, err := Parse("f", append(p[:], "more"...), kind)
		if got != want || !sealed || err != nil {
			t.Errorf("%s: got %+v, %v, %v", kind, got, sealed, err)
		}
		if err := want.Check("f", p[:]); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestCheck_refusesOtherFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p []byte)
		format bool
		damage bool
	}{
		{"magic", func(p []byte) { p[0] ^= 1 }, true, true},
		{"log's magic", func(p []byte) { copy(p, Log) }, true, true},
		{"end of the magic", func(p []byte) { clear(p[5:8]) }, true, true},
		{"zeros for a magic", func(p []byte) { clear(p[:8]) }, true, true},
		{"newer version", func(p []byte) { p[8]++ }, true, false},
		{"reserved word", func(p []byte) { p[12]++ }, false, true},
		{"other number", func(p []byte) { p[16]++ }, false, true},
		{"other database", func(p []byte) { p[24]++ }, false, true},
		{"last reserved word", func(p []byte) { p[40]++ }, false, true},
	} {
		p := sample.Bytes()
		c.change(p[:])
		binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
		err := sample.Check("f", p[:])
		if errors.Is(err, corrupt.ErrFormat) != c.format || errors.Is(err, corrupt.Err) != c.damage {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCheck_refusesZeros(t *testing.T) {
	for _, n := range []int{8, Size} {
		p := sample.Bytes()
		clear(p[:n])
		err := sample.Check("f", p[:])
		if !errors.Is(err, corrupt.ErrFormat) || !errors.Is(err, corrupt.Err) {
			t.Errorf("%d zeros: %v", n, err)
		}
	}
}

func TestCheck_refusesEveryDamagedBit(t *testing.T) {
	for i := range Size {
		for bit := range 8 {
			p := sample.Bytes()
			p[i] ^= 1 << bit
			if err := sample.Check("f", p[:]); !errors.Is(err, corrupt.Err) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
			if sample.CutOff(p[:]) {
				t.Errorf("bit %d of byte %d looks as if the header was cut off", bit, i)
			}
		}
	}
}

func TestCutOff_isABeginningWithNothingBehind(t *testing.T) {
	whole := sample.Bytes()
	if sample.CutOff(whole[:]) {
		t.Error("a whole header was cut off")
	}
	for n := range Size {
		zeroed := whole
		clear(zeroed[n:])
		if !sample.CutOff(whole[:n]) || !sample.CutOff(zeroed[:]) {
			t.Errorf("after %d bytes", n)
		}
		_, sealed, err := Parse("f", zeroed[:], sample.Kind)
		if sealed || err != nil {
			t.Errorf("after %d bytes: %v, %v", n, sealed, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range Kinds() {
		p := Header{kind, 13, [16]byte{1, 2, 3}}.Bytes()
		f.Add(p[:])
		f.Add(p[:20])
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		fields := ParseFields(p)
		for _, kind := range Kinds() {
			h, sealed, err := Parse("f", p, kind)
			if sealed && err == nil {
				if want := h.Bytes(); !bytes.Equal(p[:Size], want[:]) {
					t.Errorf("%+v was parsed from other bytes", h)
				}
				if h != fields.Header || !fields.Current() || h.CutOff(p) || h.Check("f", p) != nil {
					t.Errorf("%+v, but the fields are %+v", h, fields)
				}
			}
			if sealed && !fields.Sealed {
				t.Error("sealed, by one function only")
			}
		}
	})
}
