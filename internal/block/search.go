package block

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// guessed is how many heads around a guess are searched before the others. The guess is where the
// head would be if all were evenly spread: with hundreds of random heads, nearly all are within.
const guessed = 32

// Search returns the index of the first key that is not below key, which may be Len, and whether
// they are equal.
func (k *Keys) Search(key []byte) (index int, exact bool) {
	n := len(k.prefix)
	if len(key) < n || string(key[:n]) != string(k.prefix) {
		if bytes.Compare(key, k.prefix) < 0 {
			return 0, false
		}
		return k.count, false
	}
	if k.variable {
		return k.searchVariable(key[n:])
	}
	return k.searchFixed(key[n:])
}

// searchFixed searches form 1 for a key without the prefix.
func (k *Keys) searchFixed(key []byte) (index int, exact bool) {
	head := headOf(key, k.headBytes)
	if head < k.base {
		return 0, false
	}
	head -= k.base
	i := k.lowerBound(head)
	if i == k.count || k.delta(i) != head || len(key) < k.headBytes {
		return i, false
	}
	tail := key[k.headBytes:]
	if k.restBytes > 0 {
		if i = k.searchRests(i, head, tail); i == k.count || len(tail) < k.restBytes {
			return i, false
		}
		if rest := k.restAt(i); k.delta(i) != head || string(rest) != string(tail[:k.restBytes]) {
			return i, false
		}
		tail = tail[k.restBytes:]
	}
	switch bytes.Compare(tail, k.suffix) {
	case 0:
		return i, true
	case 1:
		return i + 1, false
	default:
		return i, false
	}
}

// lowerBound returns the index of the first head that is not below head. It first searches where
// the head would be if all were evenly spread, which touches one or two cache lines.
func (k *Keys) lowerBound(head uint64) int {
	if k.width == 0 {
		return int(min(head, uint64(k.count)))
	}
	from, to := 0, k.count
	if k.slope > 0 && head >= k.least {
		guess := min(float64(head-k.least)*k.slope, float64(to))
		lo := min(max(int(guess)-guessed/2, 1), to-1-guessed)
		hi := lo + guessed
		switch {
		case k.delta(lo-1) >= head:
			to = lo - 1
		case k.delta(hi) < head:
			from = hi + 1
		default:
			from, to = lo, hi
		}
	}
	if k.variable {
		return k.bisectVariable(from, to-from, head)
	}
	return k.bisectFixed(from, to-from, head)
}

// bisectFixed returns the index of the first of n heads of form 1, from i on, that is not below
// head, or i+n. No branch of the loop depends on the keys: half of them would be mispredicted.
func (k *Keys) bisectFixed(i, n int, head uint64) int {
	heads, width, mask := k.heads, k.width, k.mask
	for n > 0 {
		half := (n + 1) / 2
		_, below := bits.Sub64(binary.LittleEndian.Uint64(heads[(i+half-1)*width:])&mask, head, 0)
		i += half & -int(below)
		n -= half
	}
	return i
}

// bisectVariable is bisectFixed for form 2. The constant width saves a tenth of a search.
func (k *Keys) bisectVariable(i, n int, head uint64) int {
	for n > 0 {
		half := (n + 1) / 2
		at := variableHeadBytes * (i + half - 1)
		_, below := bits.Sub64(uint64(binary.LittleEndian.Uint32(k.heads[at:])), head, 0)
		i += half & -int(below)
		n -= half
	}
	return i
}

// searchRests returns the first index from i on whose head is above head, or whose rest is not
// below tail.
func (k *Keys) searchRests(i int, head uint64, tail []byte) int {
	end := k.count
	for i < end {
		mid := int(uint(i+end) / 2)
		if k.delta(mid) > head || bytes.Compare(k.restAt(mid), tail[:min(k.restBytes, len(tail))]) >= 0 {
			end = mid
		} else {
			i = mid + 1
		}
	}
	return i
}

func (k *Keys) restAt(i int) []byte { return k.rest[i*k.restBytes : (i+1)*k.restBytes] }

// searchVariable searches form 2 for a key without the prefix.
func (k *Keys) searchVariable(key []byte) (index int, exact bool) {
	head := headOf(key, variableHeadBytes)
	i := k.lowerBound(head)
	if i == k.count || k.delta(i) != head {
		return i, false
	}
	for end := k.count; i < end; { // equal heads are few, or many in a row
		mid := int(uint(i+end) / 2)
		if k.delta(mid) > head || bytes.Compare(k.middle(mid), key) >= 0 {
			end = mid
		} else {
			i = mid + 1
		}
	}
	return i, i < k.count && string(k.middle(i)) == string(key)
}

// measureSpread sets slope if the heads of form 2 are spread evenly enough for a guess, judging by
// a few of them. The first bytes of text rarely are; numbers followed by names are.
func (k *Keys) measureSpread() {
	const samples = 8
	first, last := k.delta(0), k.delta(k.count-1)
	if k.count <= 2*guessed || last < first {
		return
	}
	slope := float64(k.count) / float64(last-first+1)
	for i := range samples {
		at := i * k.count / samples
		head := k.delta(at)
		guess := float64(head-first) * slope
		if head < first || math.Abs(guess-float64(at)) > guessed/2 {
			return
		}
	}
	k.least, k.slope = first, slope
}

// headOf returns the first n bytes of p, at most 8, as a big-endian integer. A shorter p is padded
// with zeros.
func headOf(p []byte, n int) uint64 {
	return keyspace.Head(p) >> (64 - 8*uint(n))
}
