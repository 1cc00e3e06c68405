package pattern

import (
	"encoding/binary"
	"math/bits"
)

// program executes the steps of a token, from the given one. The most frequent ones, short phrases
// and digits, are inlined as long as there is more room than they need.
func (s *decoder) program(first uint32) error {
	steps, heap, out, n := s.d.steps, s.d.heap, s.out, s.n
	for i := first; ; i++ {
		x := &steps[i]
		if x.size <= padding && n+padding <= len(out) {
			*(*[padding]byte)(out[n : n+padding : n+padding]) =
				[padding]byte(heap[x.at : x.at+padding : x.at+padding])
			n += int(x.size)
		} else {
			if s.n = n; !s.append(heap, int(x.at), int(x.size)) {
				return errRoom
			}
			n = s.n
		}
		from := n
		if x.op.kind != kindEnd {
			done := false
			if n+digitsRoom <= len(out) {
				switch x.op.kind {
				case kindNumber:
					n, done = s.number(&x.op, n)
				case kindDigits:
					n, done = s.fewDigits(&x.op, n)
				}
			}
			if !done {
				s.n = n
				if err := s.op(&x.op); err != nil {
					return err
				}
				n = s.n
			}
		}
		if x.remembered {
			s.spans[s.fields%maxRemembered] = span{from, n}
			s.fields++
		}
		if x.last {
			s.n = n
			return nil
		}
	}
}

// number writes a number of up to nine digits at n, and returns where it ends. It does nothing if
// the number has more.
func (s *decoder) number(x *op, n int) (end int, done bool) {
	if x.bits > loadedBits {
		return n, false
	}
	v := load(s.p, s.bit)&(1<<x.bits-1) + s.d.bases[x.at]
	switch {
	case v < 1e3:
		n = putNumber(s.out, n, v)
	case v < 1e6:
		n = putThree(s.out, putNumber(s.out, n, v/1e3), v%1e3)
	case v < 1e9:
		n = putThree(s.out, putNumber(s.out, n, v/1e6), v/1e3%1e3)
		n = putThree(s.out, n, v%1e3)
	default:
		return n, false
	}
	s.bit += uint(x.bits)
	return n, true
}

// fewDigits writes up to six digits at n, and returns where they end. It does nothing if there are
// more.
func (s *decoder) fewDigits(x *op, n int) (end int, done bool) {
	word := load(s.p, s.bit)
	count := int(x.n) + int(word&(1<<x.bits-1))
	if count > 6 {
		return n, false
	}
	width := uint(digitBits[count])
	v := word >> x.bits & (1<<width - 1)
	s.bit += uint(x.bits) + width
	if count > 3 {
		putLast(s.out, n, v/1e3%1e3, count-3)
		return putThree(s.out, n+count-3, v%1e3), true
	}
	putLast(s.out, n, v%1e3, count)
	return n + count, true
}

func (s *decoder) op(x *op) error {
	var ok bool
	switch x.kind {
	case kindSame:
		if uint(x.n) >= s.fields {
			return errEncoded
		}
		same := s.spans[(s.fields-1-uint(x.n))%maxRemembered]
		ok = s.append(s.out, same.start, same.end-same.start)
	case kindCopy:
		size, distance := s.span(s.n - s.from)
		if distance > s.n-s.from {
			return errEncoded
		}
		ok = s.copy(size, distance)
	case kindNumber:
		v := s.based(x)
		ok = s.digits(v, decimalLen(v))
	case kindDigits:
		n := s.length(x)
		ok = s.digits(s.take(uint(digitBits[n])), n)
	case kindLittle:
		ok = s.put(s.based(x), int(x.n))
	case kindBytes:
		ok = s.bytes(s.length(x))
	default:
		ok = s.field(x)
	}
	if !ok {
		return errRoom
	}
	return nil
}

// field appends what an op of the remaining kinds reads. It returns false if there is too little
// room.
func (s *decoder) field(x *op) bool {
	switch x.kind {
	case kindBig:
		return s.put(bits.ReverseBytes64(s.based(x))>>(64-8*x.n), int(x.n))
	case kindUUID:
		return s.uuid(hexLower)
	case kindUUIDUpper:
		return s.uuid(hexUpper)
	case kindTime, kindTimeSpace, kindDate:
		return s.time(x.kind, s.based(x))
	}
	return s.characters(x)
}

// characters appends a field that may be long.
func (s *decoder) characters(x *op) bool {
	all := s.length(x)
	n, ok := s.fit(all)
	if !ok {
		return false
	}
	tail := uint(0)
	if x.at != 0 && n == all {
		tail = tailBits(n)
	}
	switch x.kind {
	case kindHex:
		s.hex(n, hexLower)
	case kindHexUpper:
		s.hex(n, hexUpper)
	case kindBase64:
		s.base64(n, &pairsStandard, tail)
	case kindBase64URL:
		s.base64(n, &pairsURL, tail)
	}
	return true
}

// take reads n bits, at most 64.
func (s *decoder) take(n uint) uint64 {
	word := load(s.p, s.bit)
	if n > loadedBits {
		word = read(s.p, s.bit, n)
	}
	s.bit += n
	return word & (1<<n - 1)
}

func (s *decoder) based(x *op) uint64 { return s.take(uint(x.bits)) + s.d.bases[x.at] }

func (s *decoder) length(x *op) int { return int(x.n) + int(s.take(uint(x.bits))) }

// fit returns how many of size bytes fit: all of them or, if out may end within the value, as many
// as there is room for. Otherwise ok is false.
func (s *decoder) fit(size int) (n int, ok bool) {
	room := len(s.out) - s.n
	return min(size, room), size <= room || s.partly
}

// append appends p[at:at+size], where p is the heap or the part of out that is written.
func (s *decoder) append(p []byte, at, size int) bool {
	n := s.n
	if n+size+padding > len(s.out) {
		size, ok := s.fit(size)
		if ok {
			s.n += copy(s.out[n:], p[at:at+size])
		}
		return ok
	}
	s.n += size
	for end := at + size; at < end; at += padding {
		*(*[padding]byte)(s.out[n : n+padding : n+padding]) =
			[padding]byte(p[at : at+padding : at+padding])
		n += padding
	}
	return true
}

// put appends the low n bytes of a word, least significant first.
func (s *decoder) put(word uint64, n int) bool {
	at := s.n
	if at+8 > len(s.out) {
		return s.putLast(word, n)
	}
	binary.LittleEndian.PutUint64(s.out[at:at+8:at+8], word)
	s.n += n
	return true
}

// putLast is put where there is room for fewer than 8 bytes.
func (s *decoder) putLast(word uint64, n int) bool {
	if n > len(s.out)-s.n {
		return false
	}
	for range n {
		s.out[s.n] = byte(word)
		s.n++
		word >>= 8
	}
	return true
}

// copy appends bytes from the given distance back in the value. They may overlap what it appends.
func (s *decoder) copy(size, distance int) bool {
	if distance >= size {
		return s.append(s.out, s.n-distance, size)
	}
	size, ok := s.fit(size)
	if !ok {
		return false
	}
	for from := s.n - distance; size > 0; {
		k := copy(s.out[s.n:s.n+size], s.out[from:s.n])
		s.n, size = s.n+k, size-k
	}
	return true
}

// span reads the length and the distance of a copy that follows the first n bytes of the value.
func (s *decoder) span(n int) (size, distance int) {
	size = copyMin + int(s.take(copyBits))
	if size == copyMin+copyLong {
		size += int(s.take(copyLongBits))
	}
	return size, 1 + int(s.take(distanceBits(n)))
}

// distanceBits returns how many bits the distance of a copy has after the first n bytes.
func distanceBits(n int) uint { return uint(bits.Len(uint(max(n, 1) - 1))) }
