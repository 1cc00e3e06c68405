package tuple

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// The tags of ascending elements. They are on disk.
const (
	tagNil    byte = 0x02
	tagFalse  byte = 0x04
	tagTrue   byte = 0x05
	tagZero   byte = 0x14 // of integers; a tag n away from it is followed by n bytes
	tagFloat  byte = 0x20
	tagString byte = 0x28
	tagBytes  byte = 0x2c
	tagTime   byte = 0x30
	tagUUID   byte = 0x34

	tagDescending byte = 0x80 // tags from here on are inverted
)

// In strings, the bytes 0 and 1 are replaced by escape and the byte plus 1. That way a 0 can end a
// string and sort before every continuation of it.
const (
	terminator byte = 0
	escape     byte = 1
)

const (
	signBit = 1 << 63
	nanBits = 0x7FF8_0000_0000_0001 // stored for every NaN
)

// AppendNil appends nil.
func AppendNil(dst []byte) []byte { return append(dst, tagNil) }

// AppendBool appends a bool.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, tagTrue)
	}
	return append(dst, tagFalse)
}

// AppendInt appends an integer, which takes 1 byte for 0 and 2 bytes for −255 to 255.
func AppendInt(dst []byte, v int64) []byte {
	if v >= 0 {
		return AppendUint(dst, uint64(v))
	}
	size := byteLen(-uint64(v))
	return appendLow(append(dst, tagZero-byte(size)), uint64(v)-1, size)
}

// AppendUint appends an integer, like [AppendInt].
func AppendUint(dst []byte, v uint64) []byte {
	size := byteLen(v)
	return appendLow(append(dst, tagZero+byte(size)), v, size)
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, v float64) []byte {
	x := math.Float64bits(v)
	if v != v {
		x = nanBits
	}
	if x&signBit != 0 {
		x = ^x
	} else {
		x |= signBit
	}
	return binary.BigEndian.AppendUint64(append(dst, tagFloat), x)
}

// AppendString appends a string.
func AppendString(dst []byte, v string) []byte {
	return appendEscaped(append(dst, tagString), v)
}

// AppendBytes appends a byte slice; nil and empty slices are the same.
func AppendBytes(dst, v []byte) []byte {
	return appendEscaped(append(dst, tagBytes), v)
}

// AppendTime appends an instant, without its location.
func AppendTime(dst []byte, v time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, tagTime), uint64(v.Unix())^signBit)
	return binary.BigEndian.AppendUint32(dst, uint32(v.Nanosecond()))
}

// AppendUUID appends a UUID.
func AppendUUID(dst []byte, v [16]byte) []byte {
	return append(append(dst, tagUUID), v[:]...)
}

// Invert turns encoded ascending elements into descending ones, and vice versa, in place. It is to
// AppendInt and its siblings what [Desc] is to [Append]:
//
//	n := len(key)
//	key = tuple.AppendTime(key, placed)
//	tuple.Invert(key[n:])
func Invert(encoded []byte) {
	for i := range encoded {
		encoded[i] = ^encoded[i]
	}
}

// byteLen returns the length of v in bytes, without leading zeros.
func byteLen(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// appendLow appends the low size bytes of v, big-endian.
func appendLow(dst []byte, v uint64, size int) []byte {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], v)
	return append(dst, all[8-size:]...)
}

// appendEscaped appends s and a terminator that sorts before any continuation of s.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	from := 0
	for i := range len(s) {
		if s[i] > escape {
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = append(dst, escape, s[i]+1)
		from = i + 1
	}
	dst = append(dst, s[from:]...)
	return append(dst, terminator)
}
