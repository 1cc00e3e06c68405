package pattern

// DecodedLen returns the length of the value that was encoded. It writes nothing, and reads only
// what decides the length. It returns an error for values of more than 1 GiB, and for anything that
// [Dictionary.Decode] cannot decode however much room it has. It never allocates.
func (d *Dictionary) DecodedLen(encoded []byte) (int, error) {
	m, err := d.measure(encoded)
	if err != nil {
		return 0, err
	}
	return m.n, nil
}

// Work estimates how many nanoseconds it takes to decode a value that was encoded with d, by
// counting the steps, in about the same time. For other bytes the result has no meaning.
func (d *Dictionary) Work(encoded []byte) int {
	m, _ := d.measure(encoded)
	return (m.work + m.n*workOfByte) / 100
}

// What decoding takes, in hundredths of a nanosecond, on the machine of docs/design/pattern.md,
// which also names the command that measures it.
const (
	workOfValue   = 1700
	workOfByte    = 5    // of the value
	workOfPhrase  = 210  // that is a token
	workOfProgram = 740  // a token with steps
	workOfStep    = 480  // a step with a phrase and digits
	workOfSame    = 1000 // beyond its step, as for the following two
	workOfCopy    = 1650
	workOfText    = 2250 // any other field
)

// measurer is a decoder that writes nothing. Only the lengths of its spans are right.
type measurer struct {
	decoder
	work int // of the tokens so far, without that of the bytes
}

// measure adds up the lengths and the work of the tokens of a value.
func (d *Dictionary) measure(encoded []byte) (m measurer, err error) {
	if len(encoded) == 0 {
		return m, nil
	}
	end, ok := endOf(encoded)
	if !ok {
		m.n, m.work = len(encoded)-1, workOfByte
		return m, nil
	}
	m = measurer{decoder: decoder{d: d, p: encoded}, work: workOfValue}
	for m.bit < end {
		i := load(m.p, m.bit) & uint64(len(m.d.lengths)-1)
		entry := m.d.table[i]
		m.bit += uint(m.d.lengths[i])
		if size := int(entry & entrySize); size != 0 {
			m.n += size
			m.work += workOfPhrase
		} else if entry == 0 || !m.program(entry>>entryAtShift) {
			return m, errEncoded
		}
		if m.n > maxValueBytes {
			return m, errRoom
		}
	}
	if m.bit != end {
		return m, errEncoded
	}
	return m, nil
}

// program adds up the lengths and the work of the steps from the given one.
func (m *measurer) program(first uint32) bool {
	m.work += workOfProgram
	for i := first; ; i++ {
		x := &m.d.steps[i]
		m.n += int(x.size)
		m.work += workOfStep
		size := 0
		switch x.op.kind {
		case kindEnd:
		case kindSame:
			m.work += workOfSame
			if uint(x.op.n) >= m.fields {
				return false
			}
			size = m.spans[(m.fields-1-uint(x.op.n))%maxRemembered].end
		case kindCopy:
			m.work += workOfCopy
			distance := 0
			if size, distance = m.span(m.n); distance > m.n {
				return false
			}
		default:
			size = m.field(&x.op)
		}
		m.n += size
		if x.remembered {
			m.spans[m.fields%maxRemembered] = span{0, size}
			m.fields++
		}
		if x.last {
			return true
		}
	}
}

// field skips what an op reads, and returns the length of what it appends.
func (m *measurer) field(x *op) int {
	switch x.kind {
	case kindNumber:
		return decimalLen(m.based(x))
	case kindLittle, kindBig:
		m.bit += uint(x.bits)
		return int(x.n)
	case kindDigits:
		n := m.length(x)
		m.bit += x.dataBits(n)
		return n
	}
	m.work += workOfText
	if x.kind.based() {
		m.bit += uint(x.bits)
		return x.kind.size()
	}
	n := x.kind.size()
	if n == 0 {
		n = m.length(x)
	}
	m.bit += x.dataBits(n)
	return n
}
