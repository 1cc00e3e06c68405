package filter

import (
	"encoding/binary"
	"math/bits"
)

// The secrets of the hash: odd, with 32 bits set, and without a pattern. They are part of the
// format.
const (
	secret0 = 0xa0761d6478bd642f
	secret1 = 0xe7037ed1a0b428db
	secret2 = 0x8ebc6af09c88c6e3
	secret3 = 0x589965cc75374cc3
)

// Hash returns the hash by which filters know a key. It is part of the format. It is built like
// wyhash: it multiplies 16 bytes at a time to 128 bits and folds their halves.
func Hash(key []byte) uint64 {
	seed, p := uint64(secret0), key
	if len(p) > 48 {
		p, seed = hashLong(p, seed)
	}
	for len(p) > 16 {
		seed = fold(le64(p)^secret1, le64(p[8:])^seed)
		p = p[16:]
	}
	var a, b uint64
	switch n := len(p); {
	case n >= 8:
		a, b = le64(p), le64(p[n-8:])
	case n >= 4:
		a, b = le32(p), le32(p[n-4:])
	case n > 0:
		a = uint64(p[0])<<16 | uint64(p[n/2])<<8 | uint64(p[n-1])
	}
	return fold(secret1^uint64(len(key)), fold(a^secret1, b^seed))
}

// hashLong hashes p 48 bytes at a time, in three independent lanes, and returns the rest of p.
func hashLong(p []byte, seed uint64) ([]byte, uint64) {
	seed1, seed2 := seed, seed
	for len(p) > 48 {
		seed = fold(le64(p)^secret1, le64(p[8:])^seed)
		seed1 = fold(le64(p[16:])^secret2, le64(p[24:])^seed1)
		seed2 = fold(le64(p[32:])^secret3, le64(p[40:])^seed2)
		p = p[48:]
	}
	return p, seed ^ seed1 ^ seed2
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func le64(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

func le32(p []byte) uint64 { return uint64(binary.LittleEndian.Uint32(p)) }
