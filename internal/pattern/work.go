package pattern

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

// Work estimates how many nanoseconds it takes to decode a value that was encoded with d, by
// counting the steps. It takes about as long as decoding. For other bytes the result has no
// meaning.
func (d *Dictionary) Work(encoded []byte) int {
	if len(encoded) == 0 {
		return 0
	}
	end, ok := endOf(encoded)
	if !ok {
		return len(encoded) * workOfByte / 100
	}
	m := measurer{decoder: decoder{d: d, p: encoded}}
	work := workOfValue
	for m.bit < end {
		i := load(encoded, m.bit) & uint64(len(d.lengths)-1)
		entry := d.table[i]
		m.bit += uint(d.lengths[i])
		if size := int(entry & entrySize); size != 0 {
			m.n += size
			work += workOfPhrase
			continue
		}
		if entry == 0 || !m.program(entry>>entryAtShift) {
			break
		}
		work += d.programWork(entry >> entryAtShift)
	}
	return (work + m.n*workOfByte) / 100
}

// programWork returns the work of the steps from the given one.
func (d *Dictionary) programWork(first uint32) int {
	work := workOfProgram
	for i := first; ; i++ {
		x := &d.steps[i]
		work += workOfStep
		switch x.op.kind {
		case kindEnd, kindNumber, kindDigits, kindLittle:
		case kindSame:
			work += workOfSame
		case kindCopy:
			work += workOfCopy
		default:
			work += workOfText
		}
		if x.last {
			return work
		}
	}
}
