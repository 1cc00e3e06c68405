package block

const (
	// scratchBytes is the most memory that a Scratch allocates at a time.
	scratchBytes = 64 << 10
	// partBytes is how much of it may be used at once.
	partBytes = scratchBytes / 4
)

// Scratch is memory for keys and values that are decoded a few at a time. What it returns is valid
// until Reset. The zero Scratch is ready for use. For Decode, a nil Scratch allocates each time.
// Not safe for concurrent use.
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

// take returns room for n bytes, at most partBytes, as an empty slice. keep hands it out.
func (s *Scratch) take(n int) []byte {
	if cap(s.buf)-len(s.buf) < n {
		// Slices handed out keep the old buffer alive.
		s.buf = make([]byte, 0, min(scratchBytes, max(4*n, 2*cap(s.buf))))
	}
	return s.buf[len(s.buf):]
}

// keep hands out p, which was appended to what take returned.
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

// Reset takes back everything that was handed out.
func (s *Scratch) Reset() { s.buf, s.ends = s.buf[:0], s.ends[:0] }
