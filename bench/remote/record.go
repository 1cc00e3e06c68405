package remote

import "encoding/binary"

// sizeOfRecord is the length of a key and its value, of which nothing can be compressed.
const sizeOfRecord = 16 + 8*wordsOfValue

const wordsOfValue = 48

// mix scatters the bits of a number, which no other number then has.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// keyOf returns the key of a record. Keys of consecutive records are far apart.
func keyOf(id uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, mix(id+1)), id)
}

// valueOf returns the value of a record. The programs of other systems make the same.
func valueOf(id uint64) []byte {
	value := make([]byte, 0, 8*wordsOfValue)
	for i := range uint64(wordsOfValue) {
		value = binary.LittleEndian.AppendUint64(value, mix(mix(id+1)+i))
	}
	return value
}
