// Package checksum computes the one checksum that all of Stoat's files use: CRC-32C (Castagnoli).
// Package hash/crc32 computes it with instructions of amd64 and arm64. On processors with AVX-512,
// assembly (folded_amd64.s) is more than twice as fast, except with the race detector and with the
// build tag purego.
//
// A sum may be seeded, so that bytes written under one identity (a database, a log segment) never
// verify under another. All functions are pure and safe for concurrent use.
package checksum

import "hash/crc32"

// Size is the length of a stored checksum in bytes; it is stored little-endian.
const Size = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// foldedLeast and foldedMost are how many bytes foldedSum reads in a call. The scheduler cannot
// preempt assembly.
const (
	foldedLeast = 256
	foldedMost  = 256 << 10
)

// Of returns the checksum of p.
func Of(p []byte) uint32 { return Extend(0, p) }

// Extend returns the checksum of the bytes behind sum followed by p. Starting from a seed in place
// of a sum gives a checksum that only the holder of the seed can verify.
func Extend(sum uint32, p []byte) uint32 {
	for folds && len(p) >= foldedLeast {
		n := min(len(p)&^63, foldedMost)
		sum = ^foldedSum(^sum, &p[0], n)
		p = p[n:]
	}
	return crc32.Update(sum, castagnoli, p)
}
