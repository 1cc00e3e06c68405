package entry

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Checkpoint is the act of a control entry that says what the state of the space was: which entries
// it covers, and the root of their state, by collection.
type Checkpoint struct {
	Before Hash         // of the entry with the checkpoint before it; zero: there is none
	Logs   []CoveredLog // by ascending log
	Chunks []chunk.Subtree
}

// CoveredLog is the entries of a log that a checkpoint covers.
type CoveredLog struct {
	Log   Hash
	Count uint64 // at least 1
	Hash  Hash   // of the last one
}

// coveredMax is the number of logs that a checkpoint covers.
const coveredMax = SizeMax / 65

// Append appends the encoded checkpoint.
func (c *Checkpoint) Append(dst []byte) []byte {
	dst = append(dst, c.Before[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(c.Logs)))
	for i := range c.Logs {
		dst = append(dst, c.Logs[i].Log[:]...)
		dst = binary.AppendUvarint(dst, c.Logs[i].Count)
		dst = append(dst, c.Logs[i].Hash[:]...)
	}
	return chunk.Append(dst, c.Chunks)
}

// takeCheckpoint reads what Append appended.
func takeCheckpoint(r *wire.Reader) *Checkpoint {
	c := &Checkpoint{Before: r.Hash()}
	c.Logs = make([]CoveredLog, r.Count(coveredMax, 32+1+32))
	for i := range c.Logs {
		l := &c.Logs[i]
		*l = CoveredLog{r.Hash(), r.Uvarint(), r.Hash()}
		if l.Count == 0 || l.Count > SeqMax || i > 0 && string(l.Log[:]) <= string(c.Logs[i-1].Log[:]) {
			r.Fail("the logs of a checkpoint are not sorted, or one has %d entries", l.Count)
		}
	}
	c.Chunks = chunk.Take(r)
	return c
}
