package fork

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// sample is a log with two branches.
type sample struct {
	space, log entry.Hash
	key        ed25519.PrivateKey
	genesis    []byte
	prev       entry.Hash // of entry 1, the last one that both branches have
}

func newSample() *sample {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	s := &sample{space: entry.Hash{0xAA}, key: ed25519.NewKeyFromSeed(seed)}
	g := (&entry.Genesis{Device: [32]byte(s.key[32:])}).Entry(1 << 40)
	s.genesis, s.log = g.Append(nil), g.Hash(&entry.Place{Space: s.space})
	s.prev = data(1<<40+1, "both").Hash(&entry.Place{Space: s.space, Log: s.log, Seq: 1, Prev: s.log})
	return s
}

// verify checks a seal.
func verify(device [32]byte, at *entry.Place, sig *[64]byte) error {
	if !seal.Verify(&device, entry.AppendSealed(nil, &at.Space, &at.Log, at.Seq, &at.Prev), sig) {
		return errors.New("not valid")
	}
	return nil
}

// data returns an entry whose part has some content.
func data(at hlc.Time, content string) *entry.Entry {
	return &entry.Entry{Time: at, Kind: entry.KindData,
		Parts: []entry.Part{{Group: "tasks", Data: []byte(content)}}}
}

// side returns a sealed branch with the contents, from seq 2 on.
func (s *sample) side(contents ...string) Side {
	side := Side{}
	at := entry.Place{Space: s.space, Log: s.log, Seq: 2, Prev: s.prev}
	for i, content := range contents {
		e := data(1<<40+2+hlc.Time(i), content)
		side.Entries = append(side.Entries, e.Append(nil))
		at.Prev = e.Hash(&at)
		at.Seq++
	}
	message := entry.AppendSealed(nil, &s.space, &s.log, at.Seq-1, &at.Prev)
	copy(side.Seal[:], ed25519.Sign(s.key, message))
	return side
}

// proof returns a proof that the log forks at seq 2.
func (s *sample) proof(t testing.TB, a, b Side) *Proof {
	t.Helper()
	p, err := New(s.space, s.log, s.genesis, 2, s.prev, [2]Side{a, b})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck_acceptsTwoSealedBranches(t *testing.T) {
	s := newSample()
	a, b := s.side("a secret of some length", "more"), s.side("b")
	p := s.proof(t, a, b)
	if log, err := p.Check(s.space, verify); err != nil || log != s.log {
		t.Errorf("log %s, %v", log, err)
	}
	encoded := p.Append(nil)
	if bytes.Contains(encoded, []byte("secret")) {
		t.Error("the proof has what was written")
	}
	if !bytes.Equal(s.proof(t, b, a).Append(nil), encoded) {
		t.Error("the order of the branches matters")
	}
	got, err := Parse(encoded)
	if err != nil || !bytes.Equal(got.Append(nil), encoded) {
		t.Errorf("it does not survive encoding: %v", err)
	}
}

// Nobody but the device can make a proof, and it proves nothing about another log.
func TestCheck_refusesWhatIsNoProof(t *testing.T) {
	s := newSample()
	whole := data(1<<40+2, "a")
	for name, change := range map[string]func(p *Proof){
		"the same branch twice":   func(p *Proof) { p.Sides[1] = p.Sides[0] },
		"the branches exchanged":  func(p *Proof) { p.Sides[0], p.Sides[1] = p.Sides[1], p.Sides[0] },
		"a seal":                  func(p *Proof) { p.Sides[1].Seal[2] ^= 1 },
		"a seal of the other one": func(p *Proof) { p.Sides[1].Seal = p.Sides[0].Seal },
		"an entry":                func(p *Proof) { p.Sides[0].Entries[0][5] ^= 1 },
		"the entry before":        func(p *Proof) { p.Prev[0] ^= 1 },
		"the number":              func(p *Proof) { p.First++ },
		"another device": func(p *Proof) {
			p.Genesis = (&entry.Genesis{Device: [32]byte{1}}).Entry(1).Append(nil)
		},
		"no genesis entry":       func(p *Proof) { p.Genesis = whole.Append(nil) },
		"a genesis cut short":    func(p *Proof) { p.Genesis = p.Genesis[:20] },
		"an entry cut short":     func(p *Proof) { p.Sides[0].Entries[0] = p.Sides[0].Entries[0][:9] },
		"a part not withheld":    func(p *Proof) { p.Sides[0].Entries[0] = whole.Append(nil) },
		"more than what is seen": func(p *Proof) { p.Sides[1].Entries = append(p.Sides[1].Entries, nil) },
	} {
		p := s.proof(t, s.side("a"), s.side("b", "c"))
		change(p)
		if _, err := p.Check(s.space, verify); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
	p := s.proof(t, s.side("a"), s.side("b"))
	if _, err := p.Check(entry.Hash{1}, verify); err == nil {
		t.Error("it is accepted in another space")
	}
}

func TestParse_refusesWhatIsNotCanonical(t *testing.T) {
	s := newSample()
	good := s.proof(t, s.side("a"), s.side("b", "c")).Append(nil)
	for i := range good {
		if _, err := Parse(good[:i]); err == nil {
			t.Errorf("cut off at %d, it is accepted", i)
		}
	}
	if _, err := Parse(append(bytes.Clone(good), 0)); err == nil {
		t.Error("bytes after the end are accepted")
	}
	for name, change := range map[string]func(p *Proof){
		"a fork at the genesis entry": func(p *Proof) { p.First = 0 },
		"a number that is too great":  func(p *Proof) { p.First = 1 << 48 },
		"a branch without entries":    func(p *Proof) { p.Sides[1].Entries = nil },
		"too many entries":            func(p *Proof) { p.Sides[0].Entries = make([][]byte, 257) },
	} {
		p := s.proof(t, s.side("a"), s.side("b"))
		change(p)
		if _, err := Parse(p.Append(nil)); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// vector is a proof of the test vectors, with all bytes in hexadecimal.
type vector struct {
	Space, Log string
	First      uint64
	Proof      string
}

// The test vectors of docs/replica-format.md.
func TestVectors_areWhatThePackageMakes(t *testing.T) {
	s := newSample()
	proof := s.proof(t, s.side("a", "b"), s.side("c")).Append(nil)
	v := vector{hex.EncodeToString(s.space[:]), hex.EncodeToString(s.log[:]), 2,
		hex.EncodeToString(proof)}
	golden.Compare(t, "fork.json", v)
}

// What Parse accepts encodes to the same bytes, and a check of it ends.
func FuzzParse(f *testing.F) {
	s := newSample()
	f.Add(s.proof(f, s.side("a"), s.side("b", "c")).Append(nil))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		p, err := Parse(encoded)
		if err != nil {
			return
		}
		if again := p.Append(nil); !bytes.Equal(again, encoded) {
			t.Errorf("%x was accepted, and encodes to %x", encoded, again)
		}
		_, _ = p.Check(s.space, verify)
	})
}
