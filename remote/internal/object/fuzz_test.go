package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// sealed returns an object of a version with any payload, with a valid header.
func sealed(h Header, k kind, version uint32, payload []byte, size uint32) []byte {
	p := append(make([]byte, HeaderBytes), payload...)
	h.put(p, k, version, 0)
	binary.LittleEndian.PutUint32(p[sizeAt:], size)
	resum(p)
	return p
}

// FuzzDecodeLog decodes log objects of any payload. What is decoded is encoded and decoded again.
func FuzzDecodeLog(f *testing.F) {
	c := newCodec(f)
	for _, l := range []*Log{exampleClaim(), exampleParts(), exampleClone(), exampleOldClone(),
		exampleBarrier()} {
		p, err := c.EncodeLog(l)
		check(f, err)
		f.Add(p[HeaderBytes:], binary.LittleEndian.Uint32(p[sizeAt:]), l.Number, l.Epoch)
	}
	f.Fuzz(func(t *testing.T, payload []byte, size uint32, number, epoch uint64) {
		h := exampleHeader(2, 1)
		if number == 1 {
			h = exampleHeader(1, epoch)
		}
		l, err := c.DecodeLog("log/2", sealed(h, logKind, version, payload, size))
		if err != nil {
			l, err = c.DecodeLog("log/2", sealed(h, logKind, versionAtOrigin, payload, size))
		}
		if err != nil {
			l, err = c.DecodeLog("log/2", sealed(h, logKind, versionBarrier, payload, size))
		}
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatal(err)
			}
			return
		}
		p, err := c.EncodeLog(l)
		check(t, err)
		again, err := c.DecodeLog("log/2", p)
		check(t, err)
		q, err := c.EncodeLog(again)
		check(t, err)
		if !bytes.Equal(p, q) {
			t.Fatalf("%x is encoded as %x", p, q)
		}
	})
}

// FuzzDecodeState decodes states of any payload.
func FuzzDecodeState(f *testing.F) {
	c := newCodec(f)
	cloned := exampleState()
	cloned.Origin = exampleOrigin()
	for _, s := range []*State{exampleState(), cloned} {
		p, err := c.EncodeState(s)
		check(f, err)
		f.Add(p[HeaderBytes:], binary.LittleEndian.Uint32(p[sizeAt:]))
	}
	f.Fuzz(func(t *testing.T, payload []byte, size uint32) {
		h := exampleState().Header
		s, err := c.DecodeState("state/5", sealed(h, stateKind, version, payload, size))
		if err != nil {
			s, err = c.DecodeState("state/5", sealed(h, stateKind, versionAtOrigin, payload, size))
		}
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatal(err)
			}
			return
		}
		p, err := c.EncodeState(s)
		check(t, err)
		again, err := c.DecodeState("state/5", p)
		check(t, err)
		q, err := c.EncodeState(again)
		check(t, err)
		if !bytes.Equal(p, q) {
			t.Fatalf("%x is encoded as %x", p, q)
		}
	})
}

// FuzzDecodeAny decodes any bytes.
func FuzzDecodeAny(f *testing.F) {
	c := newCodec(f)
	p, err := c.EncodeLog(exampleClaim())
	check(f, err)
	f.Add(p)
	f.Fuzz(func(t *testing.T, p []byte) {
		_, logErr := c.DecodeLog("log/1", p)
		_, stateErr := c.DecodeState("state/1", p)
		_, headerErr := DecodeStateHeader("state/1", p)
		if stateErr == nil && headerErr != nil {
			t.Fatalf("the state is decoded, and its header not: %v", headerErr)
		}
		for _, err := range []error{logErr, stateErr, headerErr} {
			if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, corrupt.ErrFormat) {
				t.Fatal(err)
			}
		}
	})
}
