package session

import (
	"encoding/binary"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// RunEntries is the most entries of a run.
const RunEntries = 256

// Run is entries of a log that follow each other, up to one that is sealed.
type Run struct {
	Log     entry.Hash
	First   uint64
	Prev    entry.Hash // of the entry before the first; zero if there is none
	Entries [][]byte   // in their stored form
	Seal    [64]byte
}

// brief is how a run is sent whose receiver has the entry before it.
type brief struct {
	log   [prefixSize]byte
	check [8]byte // of the entry before the run: see checkOf
}

// End returns the number of the entry after the run.
func (r *Run) End() uint64 { return r.First + uint64(len(r.Entries)) }

// append appends the run as it is sent.
func (r *Run) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(appendFlag(dst, false), r.Log[:]...), r.First)
	if r.First > 0 {
		dst = append(dst, r.Prev[:]...)
	}
	return r.appendEntries(dst)
}

// appendBrief appends the run as it is sent to a peer that has the entry before it.
func (r *Run) appendBrief(dst []byte, check [8]byte) []byte {
	dst = append(appendFlag(dst, true), r.Log[:prefixSize]...)
	return r.appendEntries(append(binary.AppendUvarint(dst, r.First), check[:]...))
}

func (r *Run) appendEntries(dst []byte) []byte {
	size := binary.MaxVarintLen64 + len(r.Seal)
	for _, e := range r.Entries {
		size += wire.BytesLen(len(e))
	}
	dst = binary.AppendUvarint(slices.Grow(dst, size), uint64(len(r.Entries)))
	for _, e := range r.Entries {
		dst = wire.AppendBytes(dst, e)
	}
	return append(dst, r.Seal[:]...)
}

// parseRun decodes a run, which refers to p. If it is brief, its log and Prev are to be found.
func parseRun(p []byte) (got *Run, of *brief, err error) {
	r := wire.NewReader(p)
	got = &Run{}
	if short := readFlag(&r); short {
		of = &brief{}
		copy(of.log[:], r.Take(len(of.log)))
	} else {
		got.Log = r.Hash()
	}
	if got.First = r.Uvarint(); got.First >= entry.SeqMax || got.First == 0 && of != nil {
		r.Fail("an entry has the number %d", got.First)
	}
	if of != nil {
		copy(of.check[:], r.Take(len(of.check)))
	} else if got.First > 0 {
		got.Prev = r.Hash()
	}
	got.Entries = make([][]byte, r.Count(RunEntries, 1))
	for i := range got.Entries {
		got.Entries[i] = r.Bytes(1, entry.SizeMax)
	}
	if len(got.Entries) == 0 {
		r.Fail("a run is empty")
	}
	copy(got.Seal[:], r.Take(len(got.Seal)))
	return got, of, r.End()
}

// complete returns the runs among items, with what brief ones leave out. Those of which the peer
// has another branch than this replica, or which do not continue what is here, are only noted.
func (s *Session) complete(items []received) ([]*Run, error) {
	var heads []Head
	for i := range items {
		if of := items[i].brief; of != nil {
			heads = append(heads, Head{Log: of.log, Next: items[i].run.First})
		}
	}
	var logs []Log
	if len(heads) > 0 {
		var err error
		if logs, err = s.space.Find(heads); err != nil {
			return nil, err
		}
	}
	runs := make([]*Run, 0, len(items))
	for i := range items {
		run, of := items[i].run, items[i].brief
		if of != nil {
			l := &logs[0]
			logs = logs[1:]
			if l.Pruned || l.Next < run.First || s.checkOf(l.Hash) != of.check {
				parted := !l.Pruned && l.Next >= run.First
				if err := s.miss(of.log, run.End(), parted); err != nil {
					return nil, err
				}
				continue
			}
			run.Log, run.Prev = l.ID, l.Hash
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// partedMax is the most logs of which another branch is asked for.
const partedMax = 1 << 10

// miss notes that a run of a log could not be used. If the peer has another branch, all of it is to
// be asked for.
func (s *Session) miss(log [prefixSize]byte, next uint64, parted bool) error {
	k := &s.sink
	if k.parted == nil {
		k.parted = map[[prefixSize]byte]bool{}
	}
	if parted && len(k.parted) < partedMax {
		k.parted[log] = true
	} else if parted {
		k.lossy = true
	}
	return s.note([]Head{{Log: log, Next: next}})
}
