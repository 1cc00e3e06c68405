package feed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

const (
	chunkSize  = posting.Size
	chunkMask  = chunkSize - 1
	tailMax    = 128    // maximum numbers in a tail, the small set written with each commit
	addressMax = 65_000 // bytes
)

// The byte after the chunk in the keys of posting lists. These values are on disk.
const (
	setPart  byte = 0
	tailPart byte = 1
)

// lists is the posting lists of a sublog in a transaction: for each address, the numbers of the
// entries that belong to it, in chunks.
type lists struct {
	bucket  *stoat.Bucket
	chunk   uint64              // the first number of the chunk that pending belongs to
	pending map[string][]uint16 // numbers not stored yet, by address, ascending
}

// add adds an entry to an address. Between two flushes, the numbers must not descend.
func (l *lists) add(address string, seq uint64) error {
	if chunk := seq &^ chunkMask; chunk != l.chunk {
		if err := l.flush(); err != nil {
			return err
		}
		l.chunk = chunk
	}
	n := uint16(seq & chunkMask)
	numbers := l.pending[address]
	if len(numbers) > 0 && numbers[len(numbers)-1] == n {
		return nil
	}
	if l.pending == nil {
		l.pending = make(map[string][]uint16)
	}
	l.pending[address] = append(numbers, n)
	return nil
}

// flush stores the pending numbers.
func (l *lists) flush() error {
	for _, address := range slices.Sorted(maps.Keys(l.pending)) {
		if err := l.store(address, posting.Of(l.pending[address])); err != nil {
			return err
		}
	}
	clear(l.pending)
	return nil
}

// store merges the numbers into the stored tail of an address, and a full tail into the set.
func (l *lists) store(address string, numbers posting.Set) error {
	tailKey := listKey(l.chunk, tailPart, address)
	tail, err := l.part(tailKey)
	if err != nil {
		return err
	}
	tail = tail.Or(numbers)
	if tail.Len() <= tailMax {
		return l.bucket.Put(tailKey, tail.Append(nil))
	}
	setKey := listKey(l.chunk, setPart, address)
	set, err := l.part(setKey)
	if err != nil {
		return err
	}
	if err := l.bucket.Put(setKey, set.Or(tail).Append(nil)); err != nil {
		return err
	}
	return l.bucket.Delete(tailKey)
}

// set returns the numbers of an address in the chunk.
func (l *lists) set(chunk uint64, address string) (posting.Set, error) {
	if err := l.flush(); err != nil {
		return posting.Set{}, err
	}
	set, err := l.part(listKey(chunk, setPart, address))
	if err != nil {
		return posting.Set{}, err
	}
	tail, err := l.part(listKey(chunk, tailPart, address))
	return set.Or(tail), err
}

// part returns a stored set, or an empty one if none is stored.
func (l *lists) part(key []byte) (posting.Set, error) {
	p, err := l.bucket.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return posting.Set{}, nil
	}
	if err != nil {
		return posting.Set{}, err
	}
	return parsePart(key, p)
}

// drop removes the chunks below the given one.
func (l *lists) drop(chunk uint64) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.bucket.DeleteRange(stoat.Range{End: binary.BigEndian.AppendUint64(nil, chunk)})
}

// listKey returns the key of one part of a posting list.
func listKey(chunk uint64, part byte, address string) []byte {
	key := make([]byte, 0, 9+len(address))
	return append(append(binary.BigEndian.AppendUint64(key, chunk), part), address...)
}

// parsePart parses a stored set.
func parsePart(key, p []byte) (posting.Set, error) {
	set, err := posting.Parse(p)
	if err != nil {
		return set, damaged("posting list %x: %v", key, err)
	}
	return set, nil
}

// checkAddresses returns an error if an address is too long for a sublog.
func checkAddresses(name string, addresses []string) error {
	for _, a := range addresses {
		if len(a) > addressMax {
			return fmt.Errorf("sublog %q: an address has %d bytes, the limit is %d: %w", name,
				len(a), addressMax, stoat.ErrTooLarge)
		}
	}
	return nil
}
