// Package fork makes and checks fork proofs: evidence that a device has sealed two branches of one
// of its logs.
//
// A proof has both branches, from the entry at which they part up to the first seal. The content of
// their parts is withheld, so that a proof can go to everybody: hashes are all that a seal needs.
// The device is in the genesis entry of the log, whose hash is the log's id. So a proof convinces
// someone who has nothing of the log.
//
// A Proof is not changed after it was made or parsed; then it is safe for concurrent use.
package fork

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Proof is evidence that a log has two branches.
type Proof struct {
	Genesis []byte     // the genesis entry of the log, in its stored form
	First   uint64     // the seq of the entries at which the branches part; not 0
	Prev    entry.Hash // of the entry before these, which both branches have
	Sides   [2]Side    // ascending by the hashes of their first entries
}

// Side is one branch of a log, from where it parts from the other one up to a seal.
type Side struct {
	Entries [][]byte // in their stored form, with all parts withheld
	Seal    [seal.Size]byte
}

// Limits of proofs. A side is the end of a run, whose entries before the last have less than 64 KiB
// with their content, and at most nine times as much without: a part takes four bytes at least, and
// 36 if it is withheld.
const (
	SizeMax    = 5 << 18 // bytes of a proof
	entriesMax = 256     // of a side
	version    = 1
)

// Verify returns why a seal is not valid, or nil. It is given the place of the sealed entry, with
// the hash of that entry itself instead of the one before.
type Verify func(device [seal.KeySize]byte, at *entry.Place, sig *[seal.Size]byte) error

// New returns a proof of a fork of a log of a space: both sides begin with the entry at which they
// part. It withholds their parts. The result must still be checked.
func New(space, log entry.Hash, genesis []byte, first uint64, prev entry.Hash, sides [2]Side) (
	*Proof, error,
) {
	p := &Proof{Genesis: genesis, First: first, Prev: prev, Sides: sides}
	var hashes [2]entry.Hash
	for i := range p.Sides {
		side := &p.Sides[i]
		withheld := make([][]byte, len(side.Entries))
		for j, stored := range side.Entries {
			e, err := entry.Parse(stored)
			if err != nil {
				return nil, fmt.Errorf("entry %d of a side: %w", j, err)
			}
			for k := range e.Parts {
				e.Parts[k].Withhold()
			}
			if withheld[j] = e.Append(nil); j == 0 {
				hashes[i] = e.Hash(&entry.Place{Space: space, Log: log, Seq: first, Prev: prev})
			}
		}
		side.Entries = withheld
	}
	if bytes.Compare(hashes[0][:], hashes[1][:]) > 0 {
		p.Sides[0], p.Sides[1] = p.Sides[1], p.Sides[0]
	}
	return p, nil
}

// Append appends the encoded proof.
func (p *Proof) Append(dst []byte) []byte {
	dst = wire.AppendBytes(append(dst, version), p.Genesis)
	dst = append(binary.AppendUvarint(dst, p.First), p.Prev[:]...)
	for i := range p.Sides {
		dst = binary.AppendUvarint(dst, uint64(len(p.Sides[i].Entries)))
		for _, stored := range p.Sides[i].Entries {
			dst = wire.AppendBytes(dst, stored)
		}
		dst = append(dst, p.Sides[i].Seal[:]...)
	}
	return dst
}

// Parse decodes a proof, which refers to encoded. It must be checked before it counts.
func Parse(encoded []byte) (*Proof, error) {
	r := wire.NewReader(encoded)
	if len(encoded) > SizeMax {
		r.Fail("a fork proof of %d bytes", len(encoded))
	}
	if v := r.Byte(); r.Err() == nil && v != version {
		r.FailWith(entry.ErrNewer)
	}
	p := &Proof{Genesis: r.Bytes(1, SizeMax), First: r.Uvarint(), Prev: r.Hash()}
	if p.First == 0 || p.First >= 1<<48 {
		r.Fail("a fork at entry %d", p.First)
	}
	for i := range p.Sides {
		side := &p.Sides[i]
		side.Entries = make([][]byte, r.Count(entriesMax, 1))
		for j := range side.Entries {
			side.Entries[j] = r.Bytes(1, SizeMax)
		}
		if len(side.Entries) == 0 {
			r.Fail("a branch without entries")
		}
		copy(side.Seal[:], r.Take(len(side.Seal)))
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return p, nil
}

// Check verifies the proof, and returns the log that it is about.
func (p *Proof) Check(space entry.Hash, verify Verify) (log entry.Hash, err error) {
	genesis, err := entry.Parse(p.Genesis)
	if err != nil {
		return log, fmt.Errorf("the genesis entry: %w", err)
	}
	about, err := entry.ParseGenesis(genesis)
	if err != nil {
		return log, fmt.Errorf("the genesis entry: %w", err)
	}
	log = genesis.Hash(&entry.Place{Space: space})
	var firsts [2]entry.Hash
	for i := range p.Sides {
		if firsts[i], err = p.checkSide(i, space, log, about.Device, verify); err != nil {
			return log, fmt.Errorf("branch %d of log %s: %w", i+1, log, err)
		}
	}
	if bytes.Compare(firsts[0][:], firsts[1][:]) >= 0 {
		return log, malformed("the branches of log %s are not sorted, or the same", log)
	}
	return log, nil
}

// checkSide verifies the chain and the seal of a side, and returns the hash of its first entry.
func (p *Proof) checkSide(
	side int, space, log entry.Hash, device [32]byte, verify Verify,
) (first entry.Hash, err error) {
	at := entry.Place{Space: space, Log: log, Seq: p.First, Prev: p.Prev}
	for i, stored := range p.Sides[side].Entries {
		e, err := entry.Parse(stored)
		if err != nil {
			return first, fmt.Errorf("entry %d: %w", at.Seq, err)
		}
		for j := range e.Parts {
			if e.Parts[j].Withheld == nil {
				return first, malformed("entry %d: a part is not withheld", at.Seq)
			}
		}
		hash := e.Hash(&at)
		if i == 0 {
			first = hash
		}
		at.Seq, at.Prev = at.Seq+1, hash
	}
	at.Seq--
	return first, verify(device, &at, &p.Sides[side].Seal)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, wire.ErrMalformed)...)
}
