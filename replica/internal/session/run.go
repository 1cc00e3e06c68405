package session

import (
	"encoding/binary"

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

// End returns the number of the entry after the run.
func (r *Run) End() uint64 { return r.First + uint64(len(r.Entries)) }

// Append appends the run as it is sent.
func (r *Run) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, r.Log[:]...), r.First)
	if r.First > 0 {
		dst = append(dst, r.Prev[:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Entries)))
	for _, e := range r.Entries {
		dst = wire.AppendBytes(dst, e)
	}
	return append(dst, r.Seal[:]...)
}

// ParseRun decodes a run, which refers to p.
func ParseRun(p []byte) (*Run, error) {
	r := wire.NewReader(p)
	got := &Run{Log: r.Hash(), First: r.Uvarint()}
	if got.First >= seqMax {
		r.Fail("an entry has the number %d", got.First)
	}
	if got.First > 0 {
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
	return got, r.End()
}
