package pattern

// kind says what an op appends to the value. The numbers are stored on disk and never reused.
type kind uint8

const (
	kindEnd       kind = 0  // nothing: the token ends
	kindPhrase    kind = 1  // bytes of the dictionary
	kindDigits    kind = 2  // a number of decimal digits, with leading zeros
	kindNumber    kind = 3  // a decimal number without leading zeros
	kindHex       kind = 4  // digits 0-9 a-f
	kindHexUpper  kind = 5  // digits 0-9 A-F
	kindBase64    kind = 6  // characters of the standard base64 alphabet
	kindBase64URL kind = 7  // characters of the base64 alphabet for URLs
	kindBytes     kind = 8  // bytes as they are
	kindUUID      kind = 9  // 32 digits 0-9 a-f, in five groups with dashes
	kindUUIDUpper kind = 10 // the same with A-F
	kindTime      kind = 11 // a date and a time, as 2006-01-02T15:04:05
	kindTimeSpace kind = 12 // a date and a time, as 2006-01-02 15:04:05
	kindDate      kind = 13 // a date, as 2006-01-02
	kindSame      kind = 14 // what an earlier field of this value appended
	kindCopy      kind = 15 // bytes from earlier in this value
	kindLittle    kind = 16 // an integer of a number of bytes, least significant first
	kindBig       kind = 17 // an integer of a number of bytes, most significant first

	kinds = 18
)

// op is a part of a token: what to append to the value, and how to read it.
type op struct {
	kind kind
	// bits is how many bits say how much longer than n a field is. For numbers and times, it is how
	// many bits they have.
	bits uint8
	// n is the length of a phrase or the least length of a field. For kindSame, it is how many
	// remembered fields to skip, going back.
	n uint16
	// at is the position of a phrase in the heap, or the index of a base. For base64, it is 1 if
	// the unused bits of the last character are zero and omitted.
	at uint32
}

// step is what decoding a token does at a time: it appends a phrase, if its size is not 0, and then
// what an op appends, unless that is kindEnd.
type step struct {
	op         op
	at         uint32 // of the phrase in the heap
	size       uint16 // of the phrase
	remembered bool   // a kindSame can refer to what the op appends
	last       bool   // the token ends with it
}

// counted reports whether ops of the kind have a least length, and bits for the rest of the length.
func (k kind) counted() bool { return k == kindDigits || k >= kindHex && k <= kindBytes }

// based reports whether ops of the kind are numbers above a base.
func (k kind) based() bool {
	return k == kindNumber || k >= kindTime && k <= kindDate || k == kindLittle || k == kindBig
}

// remembered reports whether a later kindSame can refer to what an op of the kind appends.
func (k kind) remembered() bool {
	return k != kindPhrase && k != kindBytes && k < kindSame
}

// Lengths of fields of fixed length.
const (
	uuidBytes = 36
	uuidBits  = 128
	timeBytes = 19
	dateBytes = 10
)

// size returns the length of what ops of the kind append, or 0 if it varies.
func (k kind) size() int {
	switch k {
	case kindUUID, kindUUIDUpper:
		return uuidBytes
	case kindTime, kindTimeSpace:
		return timeBytes
	case kindDate:
		return dateBytes
	}
	return 0
}

// tailBits returns how many bits of the last of n base64 characters are unused, as they encode
// whole bytes.
func tailBits(n int) uint {
	switch n % 4 {
	case 2:
		return 4
	case 3:
		return 2
	}
	return 0
}

// dataBits returns how many bits the n characters of a UUID, or of a counted op, take.
func (x op) dataBits(n int) uint {
	switch x.kind {
	case kindDigits:
		return uint(digitBits[min(n, maxDigits)])
	case kindHex, kindHexUpper:
		return 4 * uint(n)
	case kindBase64, kindBase64URL:
		if x.at == 0 {
			return 6 * uint(n)
		}
		return 6*uint(n) - tailBits(n)
	case kindUUID, kindUUIDUpper:
		return uuidBits
	}
	return 8 * uint(n)
}

// The greatest length of kindDigits, so that the number fits 64 bits, and the most bits of a
// length.
const (
	maxDigits     = 19
	maxDigitsBits = 4
)

// digitBits is how many bits each number of digits takes. It is immutable.
var digitBits = [maxDigits + 1]uint8{
	0, 4, 7, 10, 14, 17, 20, 24, 27, 30, 34, 37, 40, 44, 47, 50, 54, 57, 60, 64,
}

// How the length of a copy from earlier in a value is written.
const (
	copyMin      = 4
	copyBits     = 4               // of the length beyond copyMin
	copyLong     = 1<<copyBits - 1 // says that more of the length follows
	copyLongBits = 16              // of the length beyond that
)
