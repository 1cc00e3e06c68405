package pattern

// What decoding costs, in hundredths of a nanosecond, on the machine that docs/design/pattern.md
// names; the command that measures it is there as well.
const (
	workOfValue   = 1700
	workOfByte    = 5    // of the value
	workOfPhrase  = 210  // that is a token
	workOfProgram = 740  // a token of steps
	workOfStep    = 480  // of a phrase and an op, which is of digits
	workOfSame    = 1000 // beyond that of its step, as are those that follow
	workOfCopy    = 1650
	workOfText    = 2250 // any other run
)

// Work returns how many nanoseconds it takes to decode a value that was encoded with d, as far as
// that can be told by counting the steps. It takes about as long as that itself. What it returns
// for anything else has no meaning.
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

// programWork returns what the steps from the one given on cost.
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
