package object

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

func examplePin() *Pin {
	h := exampleHeader(5, 2)
	return &Pin{Database: h.Database, Number: h.Number, Commit: 9, Time: h.Time}
}

func TestDecodePin_readsTheExample(t *testing.T) {
	pin, err := DecodePin("pin/a", example(t, "A pin"))
	if err != nil || *pin != *examplePin() {
		t.Errorf("got %+v: %v", pin, err)
	}
}

func TestDecodePin_refusesAnyOtherByte(t *testing.T) {
	sound := EncodePin(examplePin())
	for i := range sound {
		p := bytes.Clone(sound)
		p[i] ^= 0x40
		if _, err := DecodePin("pin/a", p); !errors.Is(err, corrupt.Err) &&
			!errors.Is(err, corrupt.ErrFormat) {
			t.Errorf("byte %d: %v", i, err)
		}
		if _, err := DecodePin("pin/a", sound[:i]); err == nil {
			t.Errorf("a pin of %d bytes is accepted", i)
		}
	}
	zero := EncodePin(&Pin{})
	if _, err := DecodePin("pin/a", zero); !errors.Is(err, corrupt.Err) {
		t.Errorf("a pin of no object: %v", err)
	}
}

// FuzzDecodePin decodes any bytes. What is decoded is encoded the same.
func FuzzDecodePin(f *testing.F) {
	f.Add(EncodePin(examplePin()))
	f.Fuzz(func(t *testing.T, p []byte) {
		pin, err := DecodePin("pin/a", p)
		if err == nil && !bytes.Equal(EncodePin(pin), p) {
			t.Fatalf("%x is encoded as %x", p, EncodePin(pin))
		}
	})
}
