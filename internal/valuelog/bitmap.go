package valuelog

import "sync/atomic"

// granuleBytes is the length of a piece of a file that has a bit of its own. Two values of at least
// that length cannot start in the same one, since values do not overlap, so a bit stands for one
// value. For shorter ones it is cheaper to verify them again than to have a bit for each.
const granuleBytes = 1 << 10

// bitmap is a set of values of at least [granuleBytes] bytes in one file, each known by its offset.
// The zero value is empty. It takes memory from the first value on: 512 KiB for a file of 4 GiB.
// Values are only added. Safe for concurrent use, without locks.
type bitmap struct {
	words atomic.Pointer[[]atomic.Uint64]
}

func (b *bitmap) has(offset uint64) bool {
	words := b.words.Load()
	if words == nil {
		return false
	}
	word, bit := place(offset)
	return (*words)[word].Load()&bit != 0
}

// add adds the value at offset, in a file of size bytes.
func (b *bitmap) add(offset, size uint64) {
	words := b.words.Load()
	if words == nil {
		last, _ := place(size)
		made := make([]atomic.Uint64, last+1)
		b.words.CompareAndSwap(nil, &made) // or another goroutine was faster
		words = b.words.Load()
	}
	word, bit := place(offset)
	(*words)[word].Or(bit)
}

func place(offset uint64) (word, bit uint64) {
	granule := offset / granuleBytes
	return granule / 64, 1 << (granule % 64)
}
