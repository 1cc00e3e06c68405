// Package evidence makes and checks proof runs: evidence that a device has made the acts of a log,
// for somebody who has nothing else of the log.
//
// A run has entries from an act up to the first sealed one. Acts are whole; the parts of data are
// withheld, since hashes are all that a seal needs. The device is in the genesis entry, whose hash
// is the id of the log. What the run does not prove is what the authors of the acts had seen.
//
// A Run is not changed after it was made or parsed; then it is safe for concurrent use.
package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Run is consecutive entries of a log, of which the first is an act and the last is sealed.
type Run struct {
	Genesis []byte     // the genesis entry of the log, in its stored form
	First   uint64     // the seq of the first entry; at least 1
	Prev    entry.Hash // of the entry before
	Entries [][]byte   // in their stored form
	Seal    [seal.Size]byte
}

// Limits of runs.
const (
	SizeMax    = 18 << 20 // bytes: 64 KiB and one entry
	entriesMax = 256
	version    = 1
)

// Verify returns why a seal is not valid, or nil. It is given the place of the sealed entry, with
// the hash of that entry itself instead of the one before.
type Verify func(device [seal.KeySize]byte, at *entry.Place, sig *[seal.Size]byte) error

// Act is an act that a run proves.
type Act struct {
	At     entry.Head
	Hash   entry.Hash
	Stored []byte // the entry, in its stored form
	Entry  *entry.Entry
	Act    *entry.Act // nil: it needs a newer version of the package
}

// Proven is what a run proves: a device has made acts of a log.
type Proven struct {
	Log    entry.Hash
	Device [seal.KeySize]byte
	Acts   []Act // at least one, by seq
}

// Withhold returns the stored form of an entry as runs have it.
func Withhold(stored []byte) ([]byte, error) {
	e, err := entry.Parse(stored)
	if err != nil || e.Kind == entry.KindControl {
		return stored, err
	}
	for i := range e.Parts {
		e.Parts[i].Withhold()
	}
	return e.Append(nil), nil
}

// Append appends the encoded run.
func (r *Run) Append(dst []byte) []byte {
	dst = wire.AppendBytes(append(dst, version), r.Genesis)
	dst = append(binary.AppendUvarint(dst, r.First), r.Prev[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(r.Entries)))
	for _, e := range r.Entries {
		dst = wire.AppendBytes(dst, e)
	}
	return append(dst, r.Seal[:]...)
}

// Parse decodes a run, which refers to p.
func Parse(p []byte) (*Run, error) {
	r := wire.NewReader(p)
	if r.Byte() != version && r.Err() == nil {
		return nil, entry.ErrNewer
	}
	run := &Run{Genesis: r.Bytes(1, entry.SizeMax), First: r.Uvarint(), Prev: r.Hash()}
	if run.First == 0 || run.First >= entry.SeqMax {
		r.Fail("a run begins with entry %d", run.First)
	}
	run.Entries = make([][]byte, r.Count(entriesMax, 1))
	for i := range run.Entries {
		run.Entries[i] = r.Bytes(1, entry.SizeMax)
	}
	if len(run.Entries) == 0 {
		r.Fail("a run is empty")
	}
	copy(run.Seal[:], r.Take(len(run.Seal)))
	return run, r.End()
}

// Check verifies the run, and returns what it proves, which refers to the run.
func (r *Run) Check(space entry.Hash, verify Verify) (*Proven, error) {
	genesis, err := entry.Parse(r.Genesis)
	if err != nil {
		return nil, fmt.Errorf("the genesis entry: %w", err)
	}
	about, err := entry.ParseGenesis(genesis)
	if err != nil {
		return nil, fmt.Errorf("the genesis entry: %w", err)
	}
	p := &Proven{Log: genesis.Hash(&entry.Place{Space: space}), Device: about.Device}
	at := entry.Place{Space: space, Log: p.Log, Seq: r.First, Prev: r.Prev}
	for _, stored := range r.Entries {
		e, err := entry.Parse(stored)
		if err == nil {
			at.Prev = e.Hash(&at)
			err = p.add(e, &at, stored)
		}
		if err != nil {
			return nil, fmt.Errorf("log %s, entry %d: %w", p.Log, at.Seq, err)
		}
		at.Seq++
	}
	if len(p.Acts) == 0 || p.Acts[0].At.Seq != r.First {
		return nil, malformed("a run of log %s does not begin with an act", p.Log)
	}
	at.Seq--
	return p, verify(p.Device, &at, &r.Seal)
}

// add adds an entry to what is proven, given its place with its own hash.
func (p *Proven) add(e *entry.Entry, at *entry.Place, stored []byte) error {
	switch e.Kind {
	case entry.KindGenesis:
		return malformed("a genesis entry")
	case entry.KindControl:
		act, err := entry.ParseAct(e)
		if err != nil && !errors.Is(err, entry.ErrNewer) {
			return err
		}
		p.Acts = append(p.Acts, Act{entry.Head{Log: p.Log, Seq: at.Seq}, at.Prev, stored, e, act})
		return nil
	}
	for i := range e.Parts {
		if e.Parts[i].Withheld == nil {
			return malformed("a part is not withheld")
		}
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, wire.ErrMalformed)...)
}
