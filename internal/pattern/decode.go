package pattern

import "math/bits"

// decoder is the state of decoding one record.
type decoder struct {
	d     *Dictionary
	p     []byte
	bit   uint // the next of p to be read
	out   []byte
	n     int // bytes of out that are written
	from  int // where in out the value starts
	runs  uint
	spans [maxRemembered]span // what kindSame refers to; the last one is at (runs-1)%maxRemembered
}

// span is a part of the value.
type span struct{ start, end int }

// endOf returns how many bits of a record its tokens have. ok is false for a record that has the
// value as it is.
func endOf(encoded []byte) (end uint, ok bool) {
	last := encoded[len(encoded)-1]
	return uint(len(encoded))*8 - uint(bits.LeadingZeros8(last)) - 1, last != 0
}

// Decode appends to dst the value that was encoded, which must fit its capacity: [DecodedLen] says
// how long it is. dst must not overlap encoded. An error means that encoded is damaged, or was not
// encoded with this dictionary, or that there is too little room; what dst has up to its capacity
// is then undefined. It never allocates.
func (d *Dictionary) Decode(dst, encoded []byte) ([]byte, error) {
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
	s := decoder{d: d, p: encoded, out: dst[:cap(dst)], n: len(dst), from: len(dst)}
	if err := s.tokens(end); err != nil {
		return dst, err
	}
	return s.out[:s.n], nil
}

// tokens decodes the tokens up to the bit end.
func (s *decoder) tokens(end uint) error {
	table, mask, heap := s.d.table, s.d.mask, s.d.heap
	p, out, bit, n := s.p, s.out, s.bit, s.n
	for bit < end {
		word := load(p, bit)
		for last := min(end, bit+loadedBits-entryBits); bit < last; {
			entry := table[word&mask]
			word >>= entry & entryBits
			bit += uint(entry & entryBits)
			size, at := int(entry>>entryLenShift&entryLen), entry>>entryAtShift
			if size == 0 {
				s.bit, s.n = bit, n
				if err := s.program(at); err != nil {
					return err
				}
				bit, n = s.bit, s.n
				break
			}
			if size <= padding && n+padding <= len(out) {
				*(*[padding]byte)(out[n:]) = [padding]byte(heap[at:])
				n += size
				continue
			}
			if size > len(out)-n {
				return errRoom
			}
			n += copy(out[n:], heap[at:int(at)+size])
		}
	}
	s.n = n
	if bit != end {
		return errEncoded
	}
	return nil
}

// program executes the ops of a token from the one given on.
func (s *decoder) program(first uint32) error {
	for i := first; ; i++ {
		x := s.d.ops[i]
		from := s.n
		switch x.kind {
		case kindPhrase:
			if !s.phrase(x) {
				return errRoom
			}
			continue
		case kindEnd:
			if i == 0 {
				return errEncoded
			}
			return nil
		case kindSame:
			if err := s.same(x); err != nil {
				return err
			}
			continue
		case kindCopy:
			if err := s.copy(); err != nil {
				return err
			}
			continue
		}
		if !s.run(x) {
			return errRoom
		}
		if x.kind.remembered() {
			s.spans[s.runs%maxRemembered] = span{from, s.n}
			s.runs++
		}
	}
}

// run appends what an op reads from the record. It returns false if there is too little room.
func (s *decoder) run(x op) bool {
	switch x.kind {
	case kindNumber:
		v := s.based(x)
		n := decimalLen(v)
		return n <= len(s.out)-s.n && s.digits(v, n)
	case kindLittle, kindBig:
		return s.integer(x.kind == kindBig, int(x.n), s.based(x))
	case kindUUID, kindUUIDUpper:
		return s.uuid(x.kind == kindUUIDUpper)
	case kindTime, kindTimeSpace, kindDate:
		return s.time(x.kind, s.based(x))
	}
	n := int(x.n) + int(read(s.p, s.bit, uint(x.bits)))
	s.bit += uint(x.bits)
	if n > len(s.out)-s.n {
		return false
	}
	switch x.kind {
	case kindDigits:
		v := read(s.p, s.bit, uint(digitBits[n]))
		s.bit += uint(digitBits[n])
		return s.digits(v, n)
	case kindHex:
		s.hex(n, hexLower)
	case kindHexUpper:
		s.hex(n, hexUpper)
	case kindBase64:
		s.base64(n, &pairsStandard, x.at)
	case kindBase64URL:
		s.base64(n, &pairsURL, x.at)
	case kindBytes:
		s.bytes(n)
	}
	return true
}

// based reads a number above a base.
func (s *decoder) based(x op) uint64 {
	v := read(s.p, s.bit, uint(x.bits))
	s.bit += uint(x.bits)
	return v + s.d.bases[x.at]
}

// phrase appends a phrase.
func (s *decoder) phrase(x op) bool {
	n, out, heap := int(x.n), s.out[s.n:], s.d.heap[x.at:]
	if n > len(out) {
		return false
	}
	copy(out, heap[:n])
	s.n += n
	return true
}

// same appends what an earlier run appended.
func (s *decoder) same(x op) error {
	if uint(x.n) >= s.runs {
		return errEncoded
	}
	from := s.spans[(s.runs-1-uint(x.n))%maxRemembered]
	if from.end-from.start > len(s.out)-s.n {
		return errRoom
	}
	s.n += copy(s.out[s.n:], s.out[from.start:from.end])
	return nil
}

// copy appends bytes from earlier in the value. They may include those that it appends.
func (s *decoder) copy() error {
	size, distance := s.span(s.n - s.from)
	if distance > s.n-s.from {
		return errEncoded
	}
	if size > len(s.out)-s.n {
		return errRoom
	}
	for from := s.n - distance; size > 0; {
		k := copy(s.out[s.n:s.n+size], s.out[from:s.n])
		s.n, size = s.n+k, size-k
	}
	return nil
}

// span reads the length and the distance of a copy behind the first n bytes of the value.
func (s *decoder) span(n int) (size, distance int) {
	size = copyMin + int(read(s.p, s.bit, copyBits))
	s.bit += copyBits
	if size == copyMin+copyLong {
		size += int(read(s.p, s.bit, copyLongBits))
		s.bit += copyLongBits
	}
	width := distanceBits(n)
	distance = 1 + int(read(s.p, s.bit, width))
	s.bit += width
	return size, distance
}

// distanceBits returns how many bits the distance of a copy has behind the first n bytes.
func distanceBits(n int) uint { return uint(bits.Len(uint(max(n, 1) - 1))) }
