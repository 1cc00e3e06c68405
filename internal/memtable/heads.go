package memtable

import (
	"encoding/binary"
	"math/bits"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// The capacity of nodes, in entries and in children. Larger nodes make lookups and scans faster;
// smaller ones make edits of one key cheaper.
const (
	lineHeads   = 8 // heads in a cache line
	fanout      = 7 * lineHeads
	innerFanout = fanout + 1 // the first child has no head
)

// heads are the ascending heads of a node's keys, followed by noHead where they are unused.
type heads [fanout]uint64

// noHead fills unused heads. No head is greater, so a search need not know how many are used.
const noHead = ^uint64(0)

// head returns the 8 bytes of key after the first skip bytes, as an integer that orders like them.
// Missing bytes count as zeros, so equal heads leave the order of keys open.
func head(key []byte, skip int) uint64 {
	if len(key) >= skip+8 {
		return binary.BigEndian.Uint64(key[skip:])
	}
	if len(key) >= 8 { // shift the skipped bytes out of the last 8
		return binary.BigEndian.Uint64(key[len(key)-8:]) << (8 * uint(skip+8-len(key)))
	}
	return keyspace.Head(key) << (8 * uint(skip))
}

// rank returns how many heads are below k. It counts the last heads of all lines and then the heads
// of one line, because counting waits neither for branches nor for a chain of cache misses.
func (h *heads) rank(k uint64) int {
	line := below(h[7], k) + below(h[15], k) + below(h[23], k) + below(h[31], k) +
		below(h[39], k) + below(h[47], k) + below(h[55], k)
	if line == fanout/lineHeads {
		return fanout
	}
	l := (*[lineHeads]uint64)(h[line*lineHeads:])
	return int(line*lineHeads + below(l[0], k) + below(l[1], k) + below(l[2], k) + below(l[3], k) +
		below(l[4], k) + below(l[5], k) + below(l[6], k))
}

// below returns 1 if h < k and 0 if not, without a branch.
func below(h, k uint64) uint64 {
	_, borrow := bits.Sub64(h, k, 0)
	return borrow
}

// run returns the end of the run of heads equal to h[i], among the first n.
func (h *heads) run(i, n int) int {
	end := i + 1
	for end < n && h[end] == h[i] {
		end++
	}
	return end
}

// insert puts k at index i of n used heads.
func (h *heads) insert(i, n int, k uint64) {
	copy(h[i+1:n+1], h[i:n])
	h[i] = k
}

// cut marks the heads from index n on as unused.
func (h *heads) cut(n int) {
	for i := n; i < fanout; i++ {
		h[i] = noHead
	}
}

// shorten turns the first n heads, which skip from bytes of their keys, into heads that skip to
// bytes. All keys start with the first from bytes of key; to is at most from.
func (h *heads) shorten(n int, key []byte, from, to int) {
	front := head(key[:from], to)
	drop := 8 * uint(from-to)
	for i := range n {
		h[i] = front | h[i]>>drop
	}
}
