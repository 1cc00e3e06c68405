package evidence

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// space is the space of the tests.
var space = entry.Hash{0xAA}

// verify checks a seal.
func verify(device [32]byte, at *entry.Place, sig *[64]byte) error {
	if !seal.Verify(&device, entry.AppendSealed(nil, &at.Space, &at.Log, at.Seq, &at.Prev), sig) {
		return errors.New("not valid")
	}
	return nil
}

// grant returns an entry that makes a grant.
func grant() *entry.Entry {
	e := (&entry.Act{Grant: &entry.Grant{To: entry.Principal{Device: [32]byte{7}},
		Right: entry.RightWrite}}).Entry()
	e.Time = 1<<40 + 1
	return e
}

// data returns an entry with a change.
func data() *entry.Entry {
	return &entry.Entry{Time: 1<<40 + 2, Kind: entry.KindData,
		Parts: []entry.Part{{Group: "tasks", Data: []byte("a secret of some length")}}}
}

// newRun returns the run of a log that has some entries behind its first data entry.
func newRun(t testing.TB, entries ...*entry.Entry) (run *Run, log entry.Hash) {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	key := ed25519.NewKeyFromSeed(seed)
	g := (&entry.Genesis{Device: [32]byte(key[32:])}).Entry(1 << 40)
	log = g.Hash(&entry.Place{Space: space})
	at := entry.Place{Space: space, Log: log, Seq: 1, Prev: log}
	at.Prev = data().Hash(&at)
	run = &Run{Genesis: g.Append(nil), First: 2, Prev: at.Prev}
	for _, e := range entries {
		at.Seq++
		at.Prev = e.Hash(&at)
		withheld, err := Withhold(e.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		run.Entries = append(run.Entries, withheld)
	}
	copy(run.Seal[:], ed25519.Sign(key, entry.AppendSealed(nil, &space, &log, at.Seq, &at.Prev)))
	return run, log
}

func TestCheck_provesActs(t *testing.T) {
	run, log := newRun(t, grant(), data(), grant(), data())
	encoded := run.Append(nil)
	if bytes.Contains(encoded, []byte("secret")) {
		t.Error("the run has what was written")
	}
	parsed, err := Parse(encoded)
	if err != nil || !bytes.Equal(parsed.Append(nil), encoded) {
		t.Fatalf("it does not survive encoding: %v", err)
	}
	p, err := parsed.Check(space, verify)
	if err != nil {
		t.Fatal(err)
	}
	if p.Log != log || len(p.Acts) != 2 || p.Acts[0].At.Seq != 2 || p.Acts[1].At.Seq != 4 ||
		p.Acts[1].Act.Grant == nil {
		t.Errorf("it proves %+v", p)
	}
}

// Nobody but the device can make a run, and it proves nothing about another log.
func TestCheck_refusesWhatIsNoEvidence(t *testing.T) {
	whole := data().Append(nil)
	for name, change := range map[string]func(r *Run){
		"a seal":              func(r *Run) { r.Seal[2] ^= 1 },
		"an act":              func(r *Run) { r.Entries[0][5] ^= 1 },
		"the entry before":    func(r *Run) { r.Prev[0] ^= 1 },
		"the number":          func(r *Run) { r.First++ },
		"no genesis entry":    func(r *Run) { r.Genesis = whole },
		"an entry cut short":  func(r *Run) { r.Entries[0] = r.Entries[0][:9] },
		"a part not withheld": func(r *Run) { r.Entries[1] = whole },
		"an entry more":       func(r *Run) { r.Entries = append(r.Entries, r.Entries[1]) },
		"a genesis entry":     func(r *Run) { r.Entries[1] = r.Genesis },
		"another device": func(r *Run) {
			r.Genesis = (&entry.Genesis{Device: [32]byte{1}}).Entry(1).Append(nil)
		},
	} {
		run, _ := newRun(t, grant(), data())
		change(run)
		if _, err := run.Check(space, verify); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
	if run, _ := newRun(t, data(), grant()); run != nil {
		if _, err := run.Check(space, verify); err == nil {
			t.Error("a run that begins with data is accepted")
		}
	}
	run, _ := newRun(t, grant())
	if _, err := run.Check(entry.Hash{1}, verify); err == nil {
		t.Error("it is accepted in another space")
	}
}

func TestParse_refusesWhatIsNotCanonical(t *testing.T) {
	run, _ := newRun(t, grant(), data())
	good := run.Append(nil)
	for i := range good {
		if _, err := Parse(good[:i]); err == nil {
			t.Errorf("cut off at %d, it is accepted", i)
		}
	}
	if _, err := Parse(append(bytes.Clone(good), 0)); err == nil {
		t.Error("bytes after the end are accepted")
	}
	for name, change := range map[string]func(r *Run){
		"a genesis entry":            func(r *Run) { r.First = 0 },
		"a number that is too great": func(r *Run) { r.First = 1 << 48 },
		"no entries":                 func(r *Run) { r.Entries = nil },
		"too many entries":           func(r *Run) { r.Entries = make([][]byte, 257) },
	} {
		run, _ := newRun(t, grant())
		change(run)
		if _, err := Parse(run.Append(nil)); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// The test vectors of docs/replica-format.md.
func TestVectors_areWhatThePackageMakes(t *testing.T) {
	run, log := newRun(t, grant(), data(), grant())
	v := struct{ Space, Log, Run string }{hex.EncodeToString(space[:]), hex.EncodeToString(log[:]),
		hex.EncodeToString(run.Append(nil))}
	golden.Compare(t, "evidence.json", v)
}

// What Parse accepts encodes to the same bytes, and a check of it ends.
func FuzzParse(f *testing.F) {
	run, _ := newRun(f, grant(), data())
	f.Add(run.Append(nil))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		run, err := Parse(encoded)
		if err != nil {
			return
		}
		if again := run.Append(nil); !bytes.Equal(again, encoded) {
			t.Errorf("%x was accepted, and encodes to %x", encoded, again)
		}
		_, _ = run.Check(space, verify)
	})
}
