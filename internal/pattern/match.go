package pattern

// op writes what an op reads, if the op stands for what is at i, and returns the length of that, or
// 0.
func (e *Encoder) op(x op, i int) int {
	p := e.value[i:]
	switch x.kind {
	case kindPhrase:
		return prefix(p, e.d.heap[x.at:int(x.at)+int(x.n)])
	case kindSame:
		if int(x.n) >= e.fields {
			return 0
		}
		return prefix(p, e.remembered(int(x.n)))
	case kindCopy:
		return 0
	}
	n := e.field(x, p)
	if n > 0 && x.kind.remembered() {
		e.spans[uint(e.fields)%spanRing] = span{i, i + n}
		e.fields++
	}
	return n
}

// prefix returns the length of q if p starts with it, or 0.
func prefix(p, q []byte) int {
	if len(p) < len(q) || string(p[:len(q)]) != string(q) {
		return 0
	}
	return len(q)
}

// field writes what a field reads if it stands for what p starts with, and returns the length of
// that, or 0.
func (e *Encoder) field(x op, p []byte) int {
	if x.kind.based() {
		v, n := x.parse(p)
		if n == 0 || !e.fits(&x, v) || !e.w.fits(uint(x.bits)) {
			return 0
		}
		e.w.putLong(v-e.d.bases[x.at], uint(x.bits))
		return n
	}
	n := x.dataLen(p)
	e.work += n / 2
	if n == 0 || !e.w.fits(uint(x.bits)+x.dataBits(n)) {
		return 0
	}
	if x.kind.counted() {
		e.w.put(uint64(n-int(x.n)), uint(x.bits))
	}
	if !e.characters(x, p[:n]) {
		return 0
	}
	return n
}

// parse returns the number that p starts with, of the op's kind, and its length, or 0.
func (x op) parse(p []byte) (v uint64, n int) {
	switch x.kind {
	case kindNumber:
		return parseNumber(p)
	case kindLittle, kindBig:
		if len(p) < int(x.n) {
			return 0, 0
		}
		return integer(x.kind, p[:x.n]), int(x.n)
	}
	if v, ok := parseClock(x.kind, p); ok {
		return v, x.kind.size()
	}
	return 0, 0
}

// fits reports whether a number fits the op's base and bits.
func (e *Encoder) fits(x *op, v uint64) bool {
	base := e.d.bases[x.at]
	return v >= base && (v-base)>>x.bits == 0 // shifts by 64 give 0
}

// characters writes the characters of a field. It returns false if any is not of the op's kind.
func (e *Encoder) characters(x op, p []byte) bool {
	tail := uint(0)
	if x.at != 0 {
		tail = tailBits(len(p))
	}
	switch x.kind {
	case kindDigits:
		if spanOf(p, classDigit, len(p)) < len(p) {
			return false
		}
		e.w.putLong(parseDigits(p), uint(digitBits[len(p)]))
		return true
	case kindHex:
		return e.w.putFour(p, &fourLower)
	case kindHexUpper:
		return e.w.putFour(p, &fourUpper)
	case kindBase64:
		return e.w.putSix(p, &sixStandard, tail)
	case kindBase64URL:
		return e.w.putSix(p, &sixURL, tail)
	case kindUUID:
		return e.w.putUUID(p, &fourLower)
	case kindUUIDUpper:
		return e.w.putUUID(p, &fourUpper)
	}
	e.w.putBytes(p)
	return true
}

// dataLen returns how many bytes of p the op takes, or 0 if they are too few. If the length is
// fixed, it does not look at them.
func (x op) dataLen(p []byte) int {
	least, most := int(x.n), int(x.n)+1<<x.bits-1
	if size := x.kind.size(); size > 0 {
		least, most = size, size
	}
	n := min(most, len(p))
	if class := x.kind.class(); class != 0 && x.bits > 0 {
		n = spanOf(p, class, n)
	}
	if n < least {
		return 0
	}
	return n
}

// class returns the classes of a field's characters, or 0 if it can have any.
func (k kind) class() byte {
	switch k {
	case kindDigits:
		return classDigit
	case kindHex:
		return classHexLower
	case kindHexUpper:
		return classHexUpper
	case kindBase64:
		return classAlnum | classStandard
	case kindBase64URL:
		return classAlnum | classURL
	}
	return 0
}
