package session

import (
	"sync"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// beginner is a replica in memory that starts from any checkpoint.
type beginner struct {
	*memory
	mu        sync.Mutex
	begun     int // times that a start was begun
	kept      map[chunk.Hash][]byte
	offer     *Offer
	staged    map[chunk.Hash]bool
	parts     map[chunk.Hash][]byte
	installed chan struct{} // closed when it has
}

func newBeginner() *beginner {
	return &beginner{memory: newMemory(1, 1), kept: map[chunk.Hash][]byte{},
		staged: map[chunk.Hash]bool{}, parts: map[chunk.Hash][]byte{},
		installed: make(chan struct{})}
}

func (b *beginner) config() *Config {
	c := config(b.memory)
	c.Spaces = []Space{b}
	return c
}

func (b *beginner) Lacking(slices []chunk.Hash) (lacks []int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, hash := range slices {
		if b.kept[hash] == nil {
			lacks = append(lacks, n)
		}
	}
	return lacks, nil
}

func (b *beginner) KeepSlices(slices [][]byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range slices {
		b.kept[SliceHash(p)] = p
	}
	return nil
}

func (b *beginner) BeginSliced(of *Notice, from [32]byte, begun bool) (
	lack Lack, reason, err error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !begun {
		b.begun++
		var encoded []byte
		for _, hash := range of.Slices {
			encoded = append(encoded, b.kept[hash]...)
		}
		if b.offer, err = ParseOffer(encoded); err != nil {
			return lack, nil, err
		}
	}
	for i, tree := range b.offer.Trees {
		for n, leaf := range tree {
			if b.staged[leaf] {
				continue
			}
			if lack.Add(ChunkID{i, n}); lack.Chunks == 1 {
				lack.Offset = uint64(len(b.parts[leaf]))
			}
		}
	}
	return lack, nil, nil
}

func (b *beginner) Leaf(_ entry.Hash, id ChunkID) (leaf chunk.Hash, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id.Tree >= len(b.offer.Trees) || id.N >= len(b.offer.Trees[id.Tree]) {
		return leaf, false
	}
	return b.offer.Trees[id.Tree][id.N], true
}

func (b *beginner) Stage(chunks []chunk.Packed) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range chunks {
		b.staged[chunks[i].Leaf] = (&chunk.Unpacker{}).Is(chunks[i].Form, chunks[i].Leaf)
	}
	return nil
}

func (b *beginner) StagePart(leaf chunk.Hash, _ [32]byte, offset uint64, p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[leaf] = append(b.parts[leaf][:offset:offset], p...)
	return nil
}

func (b *beginner) Join(leaf chunk.Hash, _ [32]byte) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	good := (&chunk.Unpacker{}).Is(b.parts[leaf], leaf)
	b.staged[leaf] = b.staged[leaf] || good
	delete(b.parts, leaf)
	return good, nil
}

func (b *beginner) Install(uint64, *Notice) error {
	close(b.installed)
	return nil
}
