package pattern

import "math/bits"

// program executes the steps of a token, from the given one. The most frequent ones, short phrases
// and digits, are inlined as long as there is more room than they need.
func (s *decoder) program(first uint32) (err error) {
	steps, heap, out, n := s.d.steps, s.d.heap, s.out, s.n
	for i := first; ; i++ {
		x := &steps[i]
		if x.size <= padding && n+padding <= len(out) {
			*(*[padding]byte)(out[n : n+padding : n+padding]) =
				[padding]byte(heap[x.at : x.at+padding : x.at+padding])
			n += int(x.size)
		} else if n, err = s.append(heap, int(x.at), int(x.size), n); err != nil {
			s.n = n
			return err
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
				if n, err = s.op(&x.op, n); err != nil {
					s.n = n
					return err
				}
			}
		}
		s.remember(x, from, n)
		if x.last {
			s.n = n
			return nil
		}
	}
}

// remember notes the field of a step, if a kindSame can refer to it.
func (s *decoder) remember(x *step, start, end int) {
	if x.remembered {
		s.spans[s.fields%maxRemembered] = span{start, end}
		s.fields++
	}
}

// number writes a number of up to nine digits at n, and returns where it ends. It does nothing if
// the number has more.
func (s *decoder) number(x *op, n int) (end int, done bool) {
	if x.bits > loadedBits {
		return n, false
	}
	v := load(s.p, s.bit)&(1<<x.bits-1) + s.d.bases[x.at]
	if v >= 1e9 {
		return n, false
	}
	s.bit += uint(x.bits)
	return putDecimal(s.out, n, v), true
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
	s.bit += uint(x.bits) + width
	putDigits(s.out, n, count, word>>x.bits&(1<<width-1))
	return n + count, true
}

// maxFixedRoom is the largest number in fixedRoom.
const maxFixedRoom = uuidBytes

// fixedRoom is the room that fields of a few bytes need, by their kinds. All of it may be
// overwritten. It is immutable.
var fixedRoom = [kinds]uint8{
	kindNumber: digitsRoom, kindDigits: digitsRoom, kindLittle: 8, kindBig: 8,
	kindUUID: uuidBytes, kindUUIDUpper: uuidBytes,
	kindTime: timeBytes, kindTimeSpace: timeBytes, kindDate: dateBytes,
}

// op executes an op other than a phrase at n, and returns where it ends, or n if there is an error.
func (s *decoder) op(x *op, n int) (end int, err error) {
	switch x.kind {
	case kindBase64, kindBase64URL, kindHex, kindHexUpper, kindBytes:
		return s.run(x, n)
	case kindSame:
		if uint(x.n) >= s.fields {
			return n, errEncoded
		}
		same := s.spans[(s.fields-1-uint(x.n))%maxRemembered]
		return s.append(s.out, same.start, same.end-same.start, n)
	case kindCopy:
		size, distance := s.span(n - s.from)
		if distance > n-s.from {
			return n, errEncoded
		}
		return s.copy(n, size, distance)
	}
	if n+int(fixedRoom[x.kind]) <= len(s.out) {
		return s.fixed(x, s.out, n), nil
	}
	var field [maxFixedRoom]byte
	size := s.fixed(x, field[:], 0)
	if size > len(s.out)-n {
		return n, errRoom
	}
	return n + copy(s.out[n:], field[:size]), nil
}

// fixed writes the field of an op at n, for which fixedRoom says that there is room, and returns
// where it ends.
func (s *decoder) fixed(x *op, out []byte, n int) int {
	switch x.kind {
	case kindNumber:
		return putDecimal(out, n, s.based(x))
	case kindDigits:
		count := s.length(x)
		putDigits(out, n, count, s.take(uint(digitBits[count])))
		return n + count
	case kindLittle:
		putEight(out, n, s.based(x))
		return n + int(x.n)
	case kindBig:
		putEight(out, n, bits.ReverseBytes64(s.based(x))>>(64-8*x.n))
		return n + int(x.n)
	case kindUUID:
		s.uuid(out[n:], hexLower)
	case kindUUIDUpper:
		s.uuid(out[n:], hexUpper)
	default:
		putTime(out[n:], x.kind, s.based(x))
	}
	return n + x.kind.size()
}

// run executes an op whose field may be long.
func (s *decoder) run(x *op, n int) (end int, err error) {
	all := s.length(x)
	count, ok := s.fit(all, n)
	if !ok {
		return n, errRoom
	}
	tail := uint(0)
	if x.at != 0 && count == all {
		tail = tailBits(count)
	}
	switch x.kind {
	case kindBase64:
		s.base64(n, count, standard, tail)
	case kindBase64URL:
		s.base64(n, count, urls, tail)
	case kindHex:
		s.hex(n, count, hexLower)
	case kindHexUpper:
		s.hex(n, count, hexUpper)
	default:
		s.bytes(n, count)
	}
	return n + count, nil
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

// fit returns how many of size bytes fit at n: all of them or, if out may end within the value, as
// many as there is room for. Otherwise ok is false.
func (s *decoder) fit(size, n int) (fitting int, ok bool) {
	room := len(s.out) - n
	return min(size, room), size <= room || s.partly
}

// append writes p[at:at+size] at n, and returns where it ends, or n if there is too little room. p
// is the heap or the part of out before n.
func (s *decoder) append(p []byte, at, size, n int) (end int, err error) {
	if end = n + size; end+padding > len(s.out) {
		size, ok := s.fit(size, n)
		if !ok {
			return n, errRoom
		}
		return n + copy(s.out[n:], p[at:at+size]), nil
	}
	for ; n < end; n, at = n+padding, at+padding {
		*(*[padding]byte)(s.out[n : n+padding : n+padding]) =
			[padding]byte(p[at : at+padding : at+padding])
	}
	return end, nil
}

// copy writes bytes at n from the given distance back in the value, and returns where they end, or
// n if there is too little room. They may overlap what they are copied from.
func (s *decoder) copy(n, size, distance int) (end int, err error) {
	if distance >= size || distance >= padding && n+size+padding <= len(s.out) {
		return s.append(s.out, n-distance, size, n)
	}
	size, ok := s.fit(size, n)
	if !ok {
		return n, errRoom
	}
	from, end := n-distance, n+size
	for n < end {
		n += copy(s.out[n:end], s.out[from:n])
	}
	return end, nil
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
