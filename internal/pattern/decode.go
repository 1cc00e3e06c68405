package pattern

import (
	"math"
	"math/bits"
)

// decoder is the state of decoding one value.
type decoder struct {
	d        *Dictionary
	p        []byte
	short    [8]byte // p and zeros, if p is shorter
	bit      uint    // of p, the next to be read
	out      []byte
	n        int  // bytes of out that are written
	from     int  // where in out the value starts
	enough   int  // stop when out has this many bytes
	partly   bool // out may end within the value
	assembly bool // use decodeTokens
	fields   uint
	// spans are what kindSame refers to; the last one is at (fields-1)%maxRemembered.
	spans [maxRemembered]span
}

// span is a part of the value.
type span struct{ start, end int }

// maxUninterrupted is about how many bytes of a value decodeTokens decodes in a call. The scheduler
// cannot preempt assembly, so a garbage collection would wait until it returns.
const maxUninterrupted = 256 << 10

const (
	// Spare is how many bytes of room beyond the value make [Dictionary.Decode] faster.
	Spare = padding
	// HeadRoom is how many bytes of room [Dictionary.DecodeHead] needs beyond those requested.
	HeadRoom = uuidBytes
)

// endOf returns how many bits of an encoded value its tokens have. ok is false if the value is
// stored as it is.
func endOf(encoded []byte) (end uint, ok bool) {
	last := encoded[len(encoded)-1]
	return uint(len(encoded))*8 - uint(bits.LeadingZeros8(last)) - 1, last != 0
}

// Decode appends the value that was encoded to dst. The value must fit the capacity of dst;
// [DecodedLen] returns its length. With room for [Spare] more bytes it is faster. dst must not
// overlap encoded. An error means that encoded is damaged, or was encoded with another dictionary,
// or that there is too little room. The capacity of dst beyond the result is undefined afterwards.
// Decode never allocates.
func (d *Dictionary) Decode(dst, encoded []byte) ([]byte, error) {
	s := decoder{assembly: hasAssembly}
	return s.decode(d, dst, encoded)
}

func (s *decoder) decode(d *Dictionary, dst, encoded []byte) ([]byte, error) {
	if len(encoded) == 0 {
		return dst, nil
	}
	end, ok := endOf(encoded)
	if !ok {
		if value := encoded[:len(encoded)-1]; len(value) <= cap(dst)-len(dst) {
			return append(dst, value...), nil
		}
		return dst, errRoom
	}
	s.d, s.p, s.out = d, encoded, dst[:cap(dst)]
	s.n, s.from, s.enough = len(dst), len(dst), math.MaxInt
	if len(encoded) < len(s.short) {
		copy(s.short[:], encoded)
	}
	if err := s.tokens(end); err != nil {
		return dst, err
	}
	return s.out[:s.n], nil
}

// DecodeHead is Decode for the first n bytes of the value, or a few more, or the whole value if it
// is shorter. It needs room for n and [HeadRoom] bytes, or for the value. It does not read the rest
// of encoded, which may be damaged.
func (d *Dictionary) DecodeHead(dst, encoded []byte, n int) ([]byte, error) {
	room := cap(dst) - len(dst)
	if n > room || len(encoded) == 0 {
		return d.Decode(dst, encoded)
	}
	end, ok := endOf(encoded)
	if !ok {
		return append(dst, encoded[:min(max(n, 0), len(encoded)-1)]...), nil
	}
	s := decoder{d: d, p: encoded, n: len(dst), from: len(dst), enough: len(dst) + n, partly: true}
	s.out = dst[:len(dst)+min(max(n, 0)+HeadRoom, room)]
	if err := s.tokens(end); err != nil {
		return dst, err
	}
	return s.out[:s.n], nil
}

// tokens decodes the tokens up to the bit end, or until there is enough.
func (s *decoder) tokens(end uint) error {
	for s.bit < end && s.n < s.enough {
		if err := s.some(end); err != nil && s.n < s.enough {
			return err
		}
	}
	if s.bit > end {
		return errEncoded
	}
	return nil
}

// some decodes at least one token.
func (s *decoder) some(end uint) error {
	if s.assembly {
		step, err := s.assembled(end)
		if step != 0 {
			return s.program(step)
		}
		if err != nil || s.bit >= end || s.n >= s.enough {
			return err
		}
	}
	entry := s.phrases(end)
	if entry == 0 && s.bit < end {
		return errEncoded // no code
	}
	if entry == 0 {
		return nil
	}
	return s.token(entry)
}

// assembled decodes tokens with decodeTokens, and the ops that it leaves to Go, for about
// maxUninterrupted bytes. It returns the step with which to continue, or 0 if that is a token.
func (s *decoder) assembled(end uint) (step uint32, err error) {
	room := min(len(s.out)-padding, s.enough-1, s.n+maxUninterrupted)
	for op := room >= 0; op; {
		if step, op = decodeTokens(s, end, room, step); !op {
			break
		}
		x, from := &s.d.steps[step], s.n
		if s.n, err = s.op(&x.op, from); err != nil {
			return 0, err
		}
		s.remember(x, from, s.n)
		if step++; x.last {
			step = 0
		}
	}
	return step, nil
}

// phrases decodes short phrases, as long as there is room for padding bytes. It returns the entry
// of the token that follows, and has read its code; 0 at the bit end, and at a code that is not
// taken.
func (s *decoder) phrases(end uint) uint32 {
	lengths, heap := s.d.lengths, s.d.heap
	table := s.d.table[:len(lengths)]
	p, out, bit, n := s.p, s.out, s.bit, s.n
	for bit < end {
		word := load(p, bit)
		for range loadedBits / maxCodeBits {
			i := word & uint64(len(lengths)-1)
			entry, length := table[i], uint(lengths[i])
			size := int(entry & entrySize)
			if size == 0 || bit >= end || n+padding > len(out) {
				if bit >= end {
					entry, length = 0, 0
				}
				s.bit, s.n = bit+length, n
				return entry
			}
			at := uint(entry >> entryAtShift)
			*(*[padding]byte)(out[n : n+padding : n+padding]) =
				[padding]byte(heap[at : at+padding : at+padding])
			n += size
			word >>= length & 63
			bit += length
		}
	}
	s.bit, s.n = bit, n
	return 0
}

func (s *decoder) token(entry uint32) (err error) {
	at := entry >> entryAtShift
	if size := int(entry & entrySize); size != 0 {
		s.n, err = s.append(s.d.heap, int(at), size, s.n)
		return err
	}
	return s.program(at)
}
