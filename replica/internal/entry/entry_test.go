package entry

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Nothing of an entry or of its place may change without changing the hash.
func TestHash_coversEverything(t *testing.T) {
	type sample struct {
		e  Entry
		at Place
	}
	base := func() sample {
		return sample{
			Entry{Time: 5, Kind: KindData, Context: []Head{{Hash{1}, 3}}, Digest: Hash{2},
				Origin: &Last{Head{Hash{6}, 8}, Hash{7}},
				Parts:  []Part{{Group: "a", Data: []byte("x")}, {Group: "b"}}},
			Place{Hash{3}, Hash{4}, 7, Hash{5}},
		}
	}
	plain := base()
	seen := map[Hash]string{plain.e.Hash(&plain.at): "nothing"}
	for name, change := range map[string]func(*sample){
		"space":   func(s *sample) { s.at.Space[31]++ },
		"log":     func(s *sample) { s.at.Log[0]++ },
		"seq":     func(s *sample) { s.at.Seq++ },
		"prev":    func(s *sample) { s.at.Prev[9]++ },
		"time":    func(s *sample) { s.e.Time++ },
		"kind":    func(s *sample) { s.e.Kind = KindContext },
		"head":    func(s *sample) { s.e.Context[0].Seq++ },
		"of":      func(s *sample) { s.e.Context[0].Log[1]++ },
		"digest":  func(s *sample) { s.e.Digest[0]++ },
		"context": func(s *sample) { s.e.Context = nil },
		"origin":  func(s *sample) { s.e.Origin = nil },
		"its log": func(s *sample) { s.e.Origin.Log[5]++ },
		"its seq": func(s *sample) { s.e.Origin.Seq++ },
		"its sum": func(s *sample) { s.e.Origin.Hash[31]++ },
		"group":   func(s *sample) { s.e.Parts[1].Group = "c" },
		"data":    func(s *sample) { s.e.Parts[0].Data = []byte("y") },
		"longer":  func(s *sample) { s.e.Parts[0].Data = []byte("xx") },
		"parts":   func(s *sample) { s.e.Parts = s.e.Parts[:1] },
	} {
		s := base()
		change(&s)
		h := s.e.Hash(&s.at)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s change to the same hash", name, other)
		}
		seen[h] = name
	}
}

// An entry has the same hash without the content of its parts, and its stored form says so.
func TestHash_isTheSameOfAWithheldPart(t *testing.T) {
	at := &Place{Seq: 1}
	e := &Entry{Time: 5, Kind: KindData, Parts: []Part{
		{Group: "a", Data: sampleChanges().Append(nil)}, {Group: "b", Data: []byte{0}}, {Group: "c"}}}
	want, whole := e.Hash(at), len(e.Append(nil))
	for i := range e.Parts {
		e.Parts[i].Withhold()
		p := e.Append(nil)
		got, err := Parse(p)
		if err != nil || got.Hash(at) != want || e.Hash(at) != want {
			t.Errorf("%d parts withheld: %v, or another hash", i+1, err)
		}
		if i == 0 && len(p) >= whole {
			t.Errorf("%d bytes became %d", whole, len(p))
		}
		if got.Parts[i].Data != nil || *got.Parts[i].Withheld != *e.Parts[i].Withheld {
			t.Errorf("part %d is %+v", i, got.Parts[i])
		}
	}
	e.Parts[1].Withheld.Size = SizeMax + 1
	if _, err := Parse(e.Append(nil)); err == nil {
		t.Error("a part above the limit is accepted")
	}
}

func TestParse_refusesMoreThanAnySpaceAllows(t *testing.T) {
	if _, err := Parse(make([]byte, SizeMax+1)); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Whatever an entry is cut off at, or whichever byte is another, it is refused or is another entry.
func TestParse_survivesAnyByte(t *testing.T) {
	at := &Place{Seq: 1}
	e := Entry{Time: 1 << 60, Kind: KindData, Context: []Head{{Hash{1}, 300}},
		Parts: []Part{{Group: "tasks", Data: sampleChanges().Append(nil)}}}
	p := e.Append(nil)
	want := e.Hash(at)
	for i := range p {
		if _, err := Parse(p[:i]); err == nil {
			t.Fatalf("cut off at %d, it is accepted", i)
		}
		for b := 1; b < 256; b++ {
			p[i] ^= byte(b)
			if got, err := Parse(p); err == nil && got.Hash(at) == want {
				t.Fatalf("byte %d is %02x, and the hash is the same", i, p[i])
			}
			if part := len(p) - len(e.Parts[0].Data); i >= part {
				_, err := ParseChanges(p[part:])
				if err != nil && !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, ErrNewer) {
					t.Fatalf("byte %d is %02x: %v", i, p[i], err)
				}
			}
			p[i] ^= byte(b)
		}
	}
}

func TestParseGenesis_refusesOtherEntries(t *testing.T) {
	g := Genesis{Device: [32]byte{1}}
	for name, change := range map[string]func(*Entry){
		"kind":       func(e *Entry) { e.Kind = KindData },
		"context":    func(e *Entry) { e.Context = []Head{{}} },
		"no part":    func(e *Entry) { e.Parts = nil },
		"group":      func(e *Entry) { e.Parts[0].Group = "a" },
		"cut short":  func(e *Entry) { e.Parts[0].Data = e.Parts[0].Data[:40] },
		"left over":  func(e *Entry) { e.Parts[0].Data = append(e.Parts[0].Data, 0) },
		"withheld":   func(e *Entry) { e.Parts[0].Withhold() },
		"delegation": func(e *Entry) { e.Parts[0].Data[49] = 1 },
	} {
		e := g.Entry(1)
		change(e)
		if _, err := ParseGenesis(e); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}
