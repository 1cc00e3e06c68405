package block

// scratchBytes is how much memory a Scratch takes at a time at most.
const scratchBytes = 64 << 10

// Scratch is memory for values that are decoded one at a time. What it returns stays as it is until
// it is reset. The zero Scratch is ready for use; a nil one takes new memory for each value. Not
// safe for concurrent use.
type Scratch struct{ buf []byte }

// Decode returns a value of length bytes that was encoded with d.
func (s *Scratch) Decode(d *Dictionary, encoded []byte, length int) ([]byte, error) {
	if s == nil || length > scratchBytes/4 {
		return d.Decode(nil, encoded, length)
	}
	if cap(s.buf)-len(s.buf) < length {
		// What was handed out keeps the old buffer alive.
		s.buf = make([]byte, 0, min(scratchBytes, max(4*length, 2*cap(s.buf))))
	}
	from := len(s.buf)
	all, err := d.Decode(s.buf, encoded, length)
	if err != nil {
		return nil, err
	}
	s.buf = all
	return all[from:len(all):len(all)], nil
}

// Reset takes back all that was handed out.
func (s *Scratch) Reset() { s.buf = s.buf[:0] }
