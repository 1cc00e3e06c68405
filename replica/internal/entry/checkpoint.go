package entry

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Checkpoint is the act of a control entry that says what the state of the space was: which entries
// it covers, and the root of their state, by collection.
type Checkpoint struct {
	Before Hash // of the entry with the checkpoint before it; zero: there is none
	// Salts is how many entries directly before the checkpoint's have the salts of collections; 0:
	// they have none.
	Salts  uint64
	Logs   []CoveredLog // by ascending log
	Chunks []chunk.Subtree
}

// Unchunked returns how many leaves of a subtree are of no chunk: one if it is salted.
func (c *Checkpoint) Unchunked(tree int) int {
	if c.Salts > 0 && c.Chunks[tree].Collection != "" {
		return 1
	}
	return 0
}

// CoveredLog is the entries of a log that a checkpoint covers.
type CoveredLog struct {
	Log   Hash
	Count uint64 // at least 1
	Hash  Hash   // of the last one
}

// Limits of checkpoints.
const (
	coveredMax = SizeMax / 65 // logs that one covers
	saltsMax   = 1 << 14      // entries with salts
)

// Append appends the encoded checkpoint.
func (c *Checkpoint) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, c.Before[:]...), c.Salts)
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
	c := &Checkpoint{Before: r.Hash(), Salts: r.Uvarint()}
	if c.Salts > saltsMax {
		r.Fail("a checkpoint with %d entries of salts", c.Salts)
	}
	c.Logs = make([]CoveredLog, r.Count(coveredMax, 32+1+32))
	for i := range c.Logs {
		l := &c.Logs[i]
		*l = CoveredLog{r.Hash(), r.Uvarint(), r.Hash()}
		if l.Count == 0 || l.Count > SeqMax || i > 0 && string(l.Log[:]) <= string(c.Logs[i-1].Log[:]) {
			r.Fail("the logs of a checkpoint are not sorted, or one has %d entries", l.Count)
		}
	}
	c.Chunks = chunk.Take(r)
	for i := range c.Chunks {
		if c.Chunks[i].Leaves <= uint64(c.Unchunked(i)) {
			r.Fail("a subtree has a salt and no chunks")
		}
	}
	return c
}
