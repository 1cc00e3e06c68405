package pattern

// DecodedLen returns how long the value is that was encoded. It reads what decides that and writes
// nothing. It returns an error for what [Dictionary.Decode] cannot decode for any other reason than
// room, and for values of more than 1 GiB. It never allocates.
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
		entry := d.table[load(encoded, m.bit)&d.mask]
		m.bit += uint(entry & entryBits)
		if size := int(entry >> entryLenShift & entryLen); size != 0 {
			m.n += size
		} else if !m.program(entry >> entryAtShift) {
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

// measurer is a decoder that writes nothing. Of its spans only the lengths are right.
type measurer struct{ decoder }

// program adds the lengths of what the ops from the one given on append.
func (m *measurer) program(first uint32) bool {
	for i := first; ; i++ {
		x := m.d.ops[i]
		size := 0
		switch x.kind {
		case kindPhrase:
			m.n += int(x.n)
			continue
		case kindEnd:
			return i != 0
		case kindSame:
			if uint(x.n) >= m.runs {
				return false
			}
			m.n += m.spans[(m.runs-1-uint(x.n))%maxRemembered].end
			continue
		case kindCopy:
			size, distance := m.span(m.n)
			if distance > m.n {
				return false
			}
			m.n += size
			continue
		default:
			size = m.run(x)
		}
		m.n += size
		if x.kind.remembered() {
			m.spans[m.runs%maxRemembered] = span{0, size}
			m.runs++
		}
	}
}

// run skips what an op reads from the record, and returns the length of what it appends.
func (m *measurer) run(x op) int {
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
	n := int(x.n)
	if x.bits > 0 {
		n += int(read(m.p, m.bit, uint(x.bits)))
		m.bit += uint(x.bits)
	}
	m.bit += x.runBits(n)
	return n
}
