package pattern

// DecodedLen returns the length of the value that was encoded. It writes nothing, and reads only
// what decides the length. It returns an error for values of more than 1 GiB, and for anything that
// [Dictionary.Decode] cannot decode however much room it has. It never allocates.
func (d *Dictionary) DecodedLen(encoded []byte) (int, error) {
	if len(encoded) == 0 {
		return 0, nil
	}
	end, ok := endOf(encoded)
	if !ok {
		return len(encoded) - 1, nil
	}
	m := measurer{decoder: decoder{d: d, p: encoded}}
	for m.bit < end {
		i := load(encoded, m.bit) & uint64(len(d.lengths)-1)
		entry := d.table[i]
		m.bit += uint(d.lengths[i])
		if size := int(entry & entrySize); size != 0 {
			m.n += size
		} else if entry == 0 || !m.program(entry>>entryAtShift) {
			return 0, errEncoded
		}
		if m.n > maxValueBytes {
			return 0, errRoom
		}
	}
	if m.bit != end {
		return 0, errEncoded
	}
	return m.n, nil
}

// measurer is a decoder that writes nothing. Only the lengths of its spans are right.
type measurer struct{ decoder }

// program adds up the lengths of what the steps from the given one append.
func (m *measurer) program(first uint32) bool {
	for i := first; ; i++ {
		x := &m.d.steps[i]
		m.n += int(x.size)
		size := 0
		switch x.op.kind {
		case kindEnd:
		case kindSame:
			if uint(x.op.n) >= m.fields {
				return false
			}
			size = m.spans[(m.fields-1-uint(x.op.n))%maxRemembered].end
		case kindCopy:
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
	case kindTime, kindTimeSpace, kindDate:
		m.bit += uint(x.bits)
		return x.kind.size()
	case kindLittle, kindBig:
		m.bit += uint(x.bits)
		return int(x.n)
	case kindUUID, kindUUIDUpper:
		m.bit += 128
		return uuidBytes
	}
	n := m.length(x)
	m.bit += x.dataBits(n)
	return n
}
