// Package pattern makes machine-made values small, each decodable by itself.
//
// A [Dictionary] is what values have in common. [Train] makes one from samples. It consists of
// tokens; a token is a short sequence of ops; and each op appends something to the value: a phrase
// of the dictionary, or a field, which is characters of one kind whose bits it reads from the
// encoded value. So a whole JSON message can be one token, followed by the bits that differ. In
// text, tokens are phrases. Each token has a prefix code, the shorter the more often it is used.
//
// An encoded value is a stream of bits that starts with the least significant bit of its first
// byte: the code of a token, what the ops of the token read, the next code, and so on. A 1 follows,
// and zeros up to the end of the byte, so the last byte is not 0. If it is 0, the value precedes it
// as it is. An empty value is encoded as nothing. An encoded value is at most one byte longer than
// the value. docs/format.md has all details.
//
// On amd64, assembly decodes most tokens (tokens_amd64.s). Its twin in Go does the rest, and is
// used alone elsewhere, on processors without AVX2, with the race detector, and with the build tag
// purego.
//
// A Dictionary is immutable and safe for concurrent use; an [Encoder] is neither. Neither decoding
// nor parsing panics or reads out of bounds, whatever the bytes. There are no checksums: encoded
// values and dictionaries are parts of files that have them, and damage may decode to another
// value. The package neither chooses what to encode nor keeps anything.
package pattern

import "errors"

const (
	maxDictionaryBytes = 64 << 10 // of a serialised dictionary
	maxCodeBits        = 14
	maxTokens          = 1 << 13
	maxOps             = 127     // of a token
	maxPhraseBytes     = 1 << 12 // also of the least length of a field
	maxLengthBits      = 12
	maxValueBytes      = 1 << 30
	maxRemembered      = 8 // earlier fields that kindSame can refer to
)

var (
	errEncoded = errors.New("encoded value is damaged")
	errRoom    = errors.New("value does not fit the buffer")
)

// Dictionary is what values have in common. It is immutable and safe for concurrent use.
type Dictionary struct {
	lengths []uint8  // of the code that the next bits start with, or 0 if none does
	table   []uint32 // what that code stands for; see entrySize
	heap    []byte   // phrases, then padding
	bases   []uint64 // of numbers and times
	ops     []op     // of all tokens, each terminated by kindEnd
	steps   []step   // that decode the tokens that are not short phrases
	tokens  []token  // in the order of their codes
}

// token is what one code stands for.
type token struct {
	first uint32 // of its ops
	code  uint16 // its least significant bit comes first
	bits  uint8  // of the code
}

// Parts of a table entry: the length of a short phrase, which is the whole token, and its position
// in the heap; or, if that length is 0, the first step of the token. The entry of a code that is
// not taken is 0: no token starts with step 0.
const (
	entrySize    = 0x1F
	entryAtShift = 5
)

// padding is how many bytes are copied at a time, and how many follow all phrases in the heap.
// Phrases in the table are not longer.
const padding = 16
