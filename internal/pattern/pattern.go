// Package pattern makes machine-made values small, and decodes any one of them alone.
//
// A [Dictionary] is what values have in common. [Train] makes it of samples. It has tokens; a token
// is a short sequence of ops; and each op appends something to the value: a phrase of the
// dictionary, or a run of characters of one kind, whose bits it reads from the record:
//
//	phrase         bytes of the dictionary
//	digits         decimal digits, with leading zeros, in the bits that they need
//	number         a decimal number, in a fixed number of bits, above a base
//	hex, base64    characters at 4 or 6 bits; base64 of whole bytes without its unused bits
//	bytes          bytes as they are
//	UUID           in 128 bits
//	time, date     as RFC 3339 has them, but for fractions and the zone; seconds or days
//	little, big    a binary integer of 1 to 8 bytes in fewer bits, above a base
//	same           what one of the last 8 runs of the value appended that are text
//	copy           bytes from earlier in the value
//
// So a whole JSON message can be one token, followed by the bits that differ. In text, tokens are
// phrases. Each token has a prefix code by how often it is used.
//
// A record, which is an encoded value, is a stream of bits, from the least significant bit of its
// first byte on: the code of a token, what the ops of the token read, the next code, and so on. A 1
// and zeros up to the end of the byte follow, so that the last byte is not 0. If it is 0, the
// record is the value as it is, and this byte. An empty value is an empty record. A record is at
// most one byte longer than its value. docs/format.md has all details.
//
// A Dictionary is immutable and safe for concurrent use; an [Encoder] is neither. Neither decoding
// nor parsing panics or reads out of bounds, whatever the bytes. There are no checksums: records
// and dictionaries are parts of files that have some, and damage may decode to another value. The
// package does not choose what to encode, and keeps nothing.
package pattern

import "errors"

const (
	maxDictionaryBytes = 64 << 10 // of a serialised dictionary
	maxCodeBits        = 14
	maxTokens          = 1 << 13
	maxOps             = 127     // of a token
	maxPhraseBytes     = 1 << 12 // and of the least length of a run
	maxRunBits         = 12
	maxValueBytes      = 1 << 30
	maxRemembered      = 8 // earlier runs that kindSame can refer to
)

var (
	errEncoded = errors.New("encoded value is damaged")
	errRoom    = errors.New("value is longer than the room for it")
)

// Dictionary knows what values have in common. It is immutable and safe for concurrent use.
type Dictionary struct {
	lengths []uint8  // of the code that the next bits of a record start with, or 0 if none does
	table   []uint32 // what that code stands for, see the parts of an entry
	heap    []byte   // phrases, and padding behind them
	bases   []uint64 // of numbers and times
	ops     []op     // of all tokens, each ended by kindEnd
	steps   []step   // of those tokens that are no short phrase, to decode them
	tokens  []token  // in the order of their codes
}

// token is what one code of a record stands for.
type token struct {
	first uint32 // of its ops
	code  uint16 // the least significant bit is the first in the record
	bits  uint8  // of the code
}

// The parts of an entry of the table: the length of a short phrase that is all of the token, and
// where it lies in the heap; or, if that length is 0, the first step of the token. The entry of
// what is no code is 0, too: no token starts with the first of all steps.
const (
	entrySize    = 0x1F
	entryAtShift = 5
)

// padding is how many bytes are copied at a time. So many bytes of the heap are behind all phrases.
// Phrases in the table are not longer.
const padding = 16
