package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCodec(t testing.TB) *Codec {
	t.Helper()
	c, err := NewCodec()
	check(t, err)
	return c
}

// sequence returns n bytes that count from start.
func sequence(start byte, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = start + byte(i)
	}
	return p
}

// exampleHeader returns the header of log object n in the examples.
func exampleHeader(n, epoch uint64) Header {
	h := Header{
		Database: [16]byte(sequence(0, 16)), Number: n, Epoch: epoch, ID: ID(sequence(byte(0x10*n), 16)),
		Time: 1_767_225_600_000,
	}
	if n > 1 {
		h.Previous = ID(sequence(byte(0x10*(n-1)), 16))
	}
	return h
}

// exampleClaim returns a claim, as the first object of a log.
func exampleClaim() *Log {
	return &Log{Header: exampleHeader(1, 1), Claim: &Claim{Writer: "alpha", Branch: 300, Window: 1}}
}

// exampleBarrier returns a barrier.
func exampleBarrier() *Log { return &Log{Header: exampleHeader(3, 1), Barrier: true} }

// exampleTable returns a table of the examples.
func exampleTable(number uint64) *manifest.Table {
	return &manifest.Table{
		Number: number, Size: 300, Entries: 2, RawBytes: 28, Smallest: []byte("\x10a"),
		Largest: []byte("\x10b"),
	}
}

// exampleParts returns a log object with a part of each kind.
func exampleParts() *Log {
	return &Log{Header: exampleHeader(2, 1), Parts: []Part{
		{Commits: &Commits{First: 7, Batches: [][]byte{
			[]byte("\x01\x02\x03\x10aone"), []byte("\x02\x02\x10b"),
		}}},
		{Edit: &manifest.Edit{
			LastCommit: 8, NextNumber: 1<<36 + 2,
			AddYoung: []manifest.Run{{Tables: []*manifest.Table{exampleTable(1<<36 + 1)}}},
		}},
		{Bound: 1},
	}}
}

// exampleState returns the state after a log like the examples.
func exampleState() *State {
	h := exampleHeader(5, 2)
	h.Previous = ID{}
	return &State{
		Header: h,
		Version: &manifest.Version{
			LastCommit: 8, NextNumber: 1<<36 + 2, Branch: 400,
			Bottom: manifest.Run{Tables: []*manifest.Table{exampleTable(1<<36 + 1)}},
		},
		Commit:  9,
		Pending: []Pending{{5, 9}},
		Claims: []ClaimAt{
			{1, 1, 2, ID(sequence(0x10, 16))}, {3, 2, 1, ID(sequence(0x30, 16))},
		},
		Ends:    []Branch{{300, 8}},
		Retired: []Retired{{2, TableFile, 1 << 36}},
		Bound:   1,
		Void:    []uint64{4},
	}
}

func TestLog_isDecodedAsItWas(t *testing.T) {
	c := newCodec(t)
	large := exampleParts()
	large.Parts[0].Commits.Batches = append(large.Parts[0].Commits.Batches,
		bytes.Repeat([]byte("compressible "), 10_000))
	for _, l := range []*Log{exampleClaim(), exampleBarrier(), exampleParts(), large} {
		p, err := c.EncodeLog(l)
		check(t, err)
		got, err := c.DecodeLog("log/1", p)
		check(t, err)
		again, err := c.EncodeLog(got)
		check(t, err)
		if !bytes.Equal(p, again) || got.Header != l.Header || len(got.Parts) != len(l.Parts) {
			t.Errorf("got %+v, want %+v", got, l)
		}
		if len(l.Parts) == 0 && !reflect.DeepEqual(got, l) {
			t.Errorf("got the claim %+v, a barrier: %t", got.Claim, got.Barrier)
		}
		if len(l.Parts) > 0 && !reflect.DeepEqual(got.Parts[0], l.Parts[0]) {
			t.Errorf("got the commits %+v", got.Parts[0].Commits)
		}
	}
}

func TestLog_isCompressed(t *testing.T) {
	l := exampleParts()
	l.Parts[0].Commits.Batches = [][]byte{bytes.Repeat([]byte("compressible "), 1<<20)}
	p, err := newCodec(t).EncodeLog(l) // 13 MiB
	if err != nil || len(p) > 1<<16 {
		t.Errorf("%d bytes: %v", len(p), err)
	}
}

func TestLog_hasALargestSize(t *testing.T) {
	c, rng := newCodec(t), rand.NewChaCha8([32]byte{1})
	body := make([]byte, LogBytesMax)
	_, _ = rng.Read(body)
	l := exampleParts()
	l.Parts = []Part{{Commits: &Commits{First: 1, Batches: [][]byte{body[:LogBytesMax-200]}}}}
	p, err := c.EncodeLog(l)
	check(t, err)
	_, err = c.DecodeLog("log/2", p)
	check(t, err)
	l.Parts[0].Commits.Batches[0] = body
	if _, err := c.EncodeLog(l); err == nil {
		t.Error("a larger one is encoded")
	}
	p, err = c.seal(&l.Header, logKind, version, l.unsealed())
	check(t, err)
	if _, err := c.DecodeLog("log/2", p); !errors.Is(err, corrupt.Err) {
		t.Errorf("a larger one is decoded: %v", err)
	}
	l.Parts[0].Commits.Batches[0] = make([]byte, 8*LogBytesMax)
	if _, err := c.EncodeLog(l); err == nil {
		t.Error("one that decompresses to more is encoded")
	}
}

func TestState_isDecodedAsItWas(t *testing.T) {
	c := newCodec(t)
	s := exampleState()
	p, err := c.EncodeState(s)
	check(t, err)
	got, err := c.DecodeState("state/1", p)
	check(t, err)
	if !got.Version.Equal(s.Version) {
		t.Errorf("got the version %+v", got.Version)
	}
	got.Version = s.Version
	if !reflect.DeepEqual(got, s) {
		t.Errorf("got %+v, want %+v", got, s)
	}
}

func TestState_isRefusedIfNoLogAmountsToIt(t *testing.T) {
	c := newCodec(t)
	for i, change := range []func(*State){
		func(s *State) { s.Commit = 7 },
		func(s *State) { s.Bound = 6 },
		func(s *State) { s.Bound = 2 },
		func(s *State) { s.Epoch = 1 },
		func(s *State) { s.Claims = nil },
		func(s *State) { s.Claims[1].Number = 1 },
		func(s *State) { s.Claims[0].Epoch = 2 },
		func(s *State) { s.Claims[0].Window = 0 },
		func(s *State) { s.Claims[0].Window = WindowMax + 1 },
		func(s *State) { s.Claims[0].ID = ID{} },
		func(s *State) { s.Claims[1].Number = 5 },
		func(s *State) { s.Pending = nil },
		func(s *State) { s.Pending[0].Last = 8 },
		func(s *State) { s.Pending[0].Number = 6 },
		func(s *State) { s.Ends[0].Branch = 0 },
		func(s *State) { s.Ends[0].End = 10 },
		func(s *State) { s.Retired[0].At = 6 },
		func(s *State) { s.Retired[0].Kind = 4 },
		func(s *State) { s.Void[0] = 5 },
		func(s *State) { s.Void = []uint64{4, 3} },
		func(s *State) { s.Void = []uint64{4, 4} },
		func(s *State) { s.Void = []uint64{0, 4} },
		func(s *State) { s.Void = []uint64{3} },
		func(s *State) { s.Commit, s.Pending[0].Last = numberMax+1, numberMax+1 },
		func(s *State) { s.Number = 0 },
		func(s *State) { s.ID = ID{} },
		func(s *State) { s.Previous = ID{1} },
		func(s *State) { s.Time = 1 << 63 },
	} {
		s := exampleState()
		change(s)
		if _, err := c.EncodeState(s); err == nil {
			t.Errorf("change %d: it is encoded", i)
		}
		p, err := c.seal(&s.Header, stateKind, version, s.unsealed())
		check(t, err)
		if _, err := c.DecodeState("state/1", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

func TestLog_isRefusedIfNoWriterMakesIt(t *testing.T) {
	c := newCodec(t)
	for i, change := range []func(*Log){
		func(l *Log) { l.Parts = nil },
		func(l *Log) { l.Claim = &Claim{Branch: 1, Window: 1} },
		func(l *Log) { l.Parts, l.Claim = nil, &Claim{Branch: 1} },
		func(l *Log) { l.Parts, l.Claim = nil, &Claim{Window: 1} },
		func(l *Log) { l.Parts, l.Claim = nil, &Claim{Branch: 1, Window: WindowMax + 1} },
		func(l *Log) { l.Parts, l.Claim = nil, &Claim{Branch: 1, Window: 1, Base: 2} },
		func(l *Log) {
			l.Parts, l.Claim = nil, &Claim{Branch: 1, Window: 1, Writer: strings.Repeat("x", 256)}
		},
		func(l *Log) { l.Barrier = true },
		func(l *Log) { l.Parts, l.Barrier, l.Claim = nil, true, &Claim{Branch: 1, Window: 1} },
		func(l *Log) { l.Parts, l.Barrier, l.Number, l.Previous = nil, true, 1, ID{} },
		func(l *Log) { l.Parts[0].Commits.First = 0 },
		func(l *Log) { l.Parts[0].Commits.First = numberMax },
		func(l *Log) { l.Parts[0].Commits.Batches = nil },
		func(l *Log) { l.Parts[0].Commits.Batches[0] = nil },
		func(l *Log) { l.Parts[2].Bound = 0 },
		func(l *Log) { l.Parts[2].Bound = 2 },
		func(l *Log) { l.Epoch = numberMax + 1 },
		func(l *Log) { l.Epoch = 0 },
		func(l *Log) { l.Previous = ID{} },
		func(l *Log) { l.Previous = l.ID },
		func(l *Log) { l.Number = 1 },
	} {
		l := exampleParts()
		change(l)
		if _, err := c.EncodeLog(l); err == nil {
			t.Errorf("change %d: it is encoded", i)
		}
		p, err := c.seal(&l.Header, logKind, l.version(), l.unsealed())
		check(t, err)
		if _, err := c.DecodeLog("log/1", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

// Whatever byte is changed or missing, nobody takes the object for another.
func TestDecode_noticesDamage(t *testing.T) {
	c := newCodec(t)
	log, err := c.EncodeLog(exampleParts())
	check(t, err)
	state, err := c.EncodeState(exampleState())
	check(t, err)
	damaged := func(err error) bool {
		return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
	}
	for i := range log {
		log[i] ^= 1
		if _, err := c.DecodeLog("log/2", log); !damaged(err) {
			t.Errorf("log object with byte %d changed: %v", i, err)
		}
		log[i] ^= 1
		if _, err := c.DecodeLog("log/2", log[:i]); !damaged(err) {
			t.Errorf("log object of %d bytes: %v", i, err)
		}
	}
	for i := range state {
		state[i] ^= 0x80
		if _, err := c.DecodeState("state/5", state); !damaged(err) {
			t.Errorf("state with byte %d changed: %v", i, err)
		}
		state[i] ^= 0x80
	}
	if _, err := c.DecodeState("state/5", log); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a log object as a state: %v", err)
	}
}

func TestDecode_refusesNewerVersions(t *testing.T) {
	c := newCodec(t)
	p, err := c.EncodeLog(exampleClaim())
	check(t, err)
	p[versionAt] = 4
	resum(p)
	if _, err := c.DecodeLog("log/1", p); !errors.Is(err, corrupt.ErrFormat) {
		t.Error(err)
	}
}

// resum gives the header of an object its checksums.
func resum(p []byte) {
	binary.LittleEndian.PutUint32(p[payloadAt:], checksum.Of(p[HeaderBytes:]))
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
}

// A state of a few bytes makes its reader allocate little, whatever it decompresses to.
func TestState_expandsLittle(t *testing.T) {
	c := newCodec(t)
	h := exampleState().Header
	zeros := make([]byte, 64<<20)
	p := c.encoder.EncodeAll(zeros, make([]byte, HeaderBytes))
	h.put(p, stateKind, version, len(zeros))
	if _, err := c.DecodeState("state/5", p); !errors.Is(err, corrupt.Err) ||
		!strings.Contains(err.Error(), "expand") {
		t.Errorf("%d bytes of zeros in %d: %v", len(zeros), len(p), err)
	}
	s := exampleState()
	for n := range uint64(1 << 20) { // which compress well
		s.Retired = append(s.Retired, Retired{5, TableFile, n % 2})
	}
	p, err := c.EncodeState(s)
	check(t, err)
	got, err := c.DecodeState("state/5", p)
	check(t, err)
	if !reflect.DeepEqual(got.Retired, s.Retired) {
		t.Error("the retired files differ")
	}
}

// A state has one encoding: what is zero is left out.
func TestState_isRefusedWithAnEmptyField(t *testing.T) {
	c := newCodec(t)
	s := exampleState()
	s.Pending, s.Commit = nil, s.Version.LastCommit
	s.Void, s.Bound, s.Retired, s.Ends = nil, 0, nil, nil
	unsealed := s.unsealed()
	for _, tag := range []byte{tagEnds, tagRetired, tagBound, tagVoid} {
		p, err := c.seal(&s.Header, stateKind, version, append(bytes.Clone(unsealed), tag, 0))
		check(t, err)
		if _, err := c.DecodeState("state/5", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("field %d: %v", tag, err)
		}
	}
	p, err := c.EncodeState(s)
	check(t, err)
	_, err = c.DecodeState("state/5", p)
	check(t, err)
}

func TestDecode_refusesWhatExpandsTooMuch(t *testing.T) {
	c := newCodec(t)
	l := exampleParts()
	l.Parts[0].Commits.Batches[0] = bytes.Repeat([]byte("x"), 1000)
	p, err := c.EncodeLog(l)
	check(t, err)
	for _, size := range []uint32{1, 8*LogBytesMax + 1, 1<<32 - 1, 8 * LogBytesMax} {
		binary.LittleEndian.PutUint32(p[sizeAt:], size)
		resum(p)
		if _, err := c.DecodeLog("log/2", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

func TestActedSince_sawAnythingButClaimsAndVoidObjects(t *testing.T) {
	s := &State{Header: Header{Number: 5}, Claims: []ClaimAt{{Number: 1}, {Number: 3}, {Number: 5}}}
	for i, want := range []bool{true, true, false, false} {
		if got := s.ActedSince(i); got != want {
			t.Errorf("since claim %d: %v", i, got)
		}
	}
	s.Void = []uint64{4}
	if s.ActedSince(1) || !s.ActedSince(0) {
		t.Error("a void object counts")
	}
}
