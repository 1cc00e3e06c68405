package pattern

import (
	"math/bits"
	"slices"
)

const (
	// spareBits is how many more bits than codes of equal length the longest codes may have.
	// Decoding looks codes up in a table, which is to be small for few tokens.
	spareBits = 4
	// shorterShare of all bits of codes, as a divisor, may be spent on making the longest codes
	// shorter, for a smaller table.
	shorterShare = 256
)

// codeLengths returns the lengths of the codes of tokens with the given counts of uses: at most
// maxCodeBits each, with nearly the fewest bits in all. There are at most maxTokens.
func codeLengths(counts []uint32) []uint8 {
	longest := min(bits.Len(uint(len(counts)))+spareBits, maxCodeBits)
	order := make([]int, len(counts)) // from the least used token on
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(counts[a]) - int(counts[b]) })
	depths := treeDepths(counts, order)
	lengths, least := lengthsUpTo(longest, depths, counts, order)
	for longest > 1 && 1<<(longest-1) >= len(counts) {
		longest--
		shorter, total := lengthsUpTo(longest, depths, counts, order)
		if total > least+least/shorterShare {
			break
		}
		lengths = shorter
	}
	return lengths
}

// lengthsUpTo returns lengths of codes of at most longest bits, and how many bits all uses take
// together. depths are the tree's, in the given order of tokens.
func lengthsUpTo(longest int, depths []int, counts []uint32, order []int) (
	lengths []uint8, total int,
) {
	var perLength [maxCodeBits + 1]int
	for _, depth := range depths {
		perLength[min(max(depth, 1), longest)]++
	}
	shorten(perLength[:longest+1])
	lengths = make([]uint8, len(counts))
	for _, i := range order {
		for perLength[longest] == 0 {
			longest--
		}
		perLength[longest]--
		lengths[i] = uint8(longest)
		total += longest * int(counts[i])
	}
	return lengths, total
}

// treeDepths returns the depths of the leaves of the Huffman tree, for tokens in the given order.
func treeDepths(counts []uint32, order []int) []int {
	n := len(order)
	weights := make([]uint64, 0, 2*n) // of the leaves, then of the inner nodes, both ascending
	for _, i := range order {
		weights = append(weights, uint64(counts[i]))
	}
	parents := make([]int, 2*n)
	leaf, inner := 0, n
	least := func() int {
		if leaf < n && (inner >= len(weights) || weights[leaf] <= weights[inner]) {
			leaf++
			return leaf - 1
		}
		inner++
		return inner - 1
	}
	for len(weights) < 2*n-1 {
		a, b := least(), least()
		parents[a], parents[b] = len(weights), len(weights)
		weights = append(weights, weights[a]+weights[b])
	}
	depths := make([]int, 2*n)
	for i := 2*n - 3; i >= 0; i-- {
		depths[i] = depths[parents[i]] + 1
	}
	return depths[:n]
}

// shorten makes the lengths a valid code again after the longest ones were cut, by making shorter
// ones longer, the longest of them first.
func shorten(perLength []int) {
	longest := len(perLength) - 1
	taken := 0 // of all codes of the longest length
	for length, n := range perLength {
		taken += n << (longest - length)
	}
	for length := longest - 1; taken > 1<<longest; {
		for perLength[length] == 0 {
			length--
		}
		perLength[length]--
		perLength[length+1]++
		taken -= 1 << (longest - length - 1)
		length = min(length+1, longest-1)
	}
}
