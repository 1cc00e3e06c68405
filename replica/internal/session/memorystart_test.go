package session

import (
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A replica in memory starts from no checkpoint, and offers none.

func (m *memory) Starts() (bool, error)                                { return false, nil }
func (m *memory) Unfilled() (string, error)                            { return "", nil }
func (m *memory) Offered(*Reader) (o *Offered, reason, err error)      { return nil, nil, nil }
func (m *memory) Chunk(*Reader, entry.Hash, ChunkID) ([]byte, error)   { return nil, errMemory }
func (m *memory) Lacking([]chunk.Hash) ([]int, error)                  { return nil, errMemory }
func (m *memory) KeepSlices([][]byte) error                            { return errMemory }
func (m *memory) Leaf(entry.Hash, ChunkID) (leaf chunk.Hash, ok bool)  { return leaf, false }
func (m *memory) End(uint32) (uint64, error)                           { return 1 << 40, nil }
func (m *memory) Stage([]chunk.Packed) error                           { return errMemory }
func (m *memory) StagePart(chunk.Hash, [32]byte, uint64, []byte) error { return errMemory }
func (m *memory) Join(chunk.Hash, [32]byte) (bool, error)              { return false, errMemory }
func (m *memory) Install(uint64, *Notice) error                        { return errMemory }
func (m *memory) BeginSliced(*Notice, [32]byte, bool) (lacks Lack, reason, err error) {
	return lacks, nil, errMemory
}
