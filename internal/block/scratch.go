package block

const (
	// scratchBytes is how much memory a Scratch takes at a time at most.
	scratchBytes = 64 << 10
	// partBytes is how much of it may be used at once.
	partBytes = scratchBytes / 4
)

// Scratch is memory for keys and values that are decoded a few at a time. What it returns stays as
// it is until it is reset. The zero Scratch is ready for use; for Decode, a nil one is new memory
// each time. Not safe for concurrent use.
type Scratch struct {
	buf  []byte
	ends []uint32 // of columns
}

// Decode returns a value of length bytes that was encoded with d.
func (s *Scratch) Decode(d *Dictionary, encoded []byte, length int) ([]byte, error) {
	if s == nil || length > partBytes {
		return d.Decode(nil, encoded, length)
	}
	value, err := d.Decode(s.take(length), encoded, length)
	if err != nil {
		return nil, err
	}
	s.keep(value)
	return value[:length:length], nil
}

// take returns room for n bytes, at most partBytes, as an empty slice. It is handed out by keep.
func (s *Scratch) take(n int) []byte {
	if cap(s.buf)-len(s.buf) < n {
		// What was handed out keeps the old buffer alive.
		s.buf = make([]byte, 0, min(scratchBytes, max(4*n, 2*cap(s.buf))))
	}
	return s.buf[len(s.buf):]
}

// keep hands out what was put where take said.
func (s *Scratch) keep(p []byte) {
	s.buf = s.buf[:len(s.buf)+len(p)]
}

// takeEnds returns room for the n ends of a column, the first of which is 0.
func (s *Scratch) takeEnds(n int) []uint32 {
	from := len(s.ends)
	if cap(s.ends)-from < n {
		from = 0
		s.ends = make([]uint32, 0, min(scratchBytes/4, max(4*n, 2*cap(s.ends))))
	}
	s.ends = s.ends[:from+n]
	ends := s.ends[from : from+n : from+n]
	ends[0] = 0
	return ends
}

// Reset takes back all that was handed out.
func (s *Scratch) Reset() { s.buf, s.ends = s.buf[:0], s.ends[:0] }
