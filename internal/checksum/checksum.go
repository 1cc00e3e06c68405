// Package checksum computes the one checksum that all of Stoat's files use: CRC-32C (Castagnoli),
// which amd64 and arm64 compute in hardware.
//
// A sum may be seeded, so that bytes written under one identity (a database, a log segment) never
// verify under another. All functions are pure and safe for concurrent use.
package checksum

import "hash/crc32"

// Size is the length of a stored checksum in bytes; it is stored little-endian.
const Size = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Of returns the checksum of p.
func Of(p []byte) uint32 { return crc32.Update(0, castagnoli, p) }

// Extend returns the checksum of the bytes behind sum followed by p. Starting from a seed in place
// of a sum gives a checksum that only the holder of the seed can verify.
func Extend(sum uint32, p []byte) uint32 { return crc32.Update(sum, castagnoli, p) }
