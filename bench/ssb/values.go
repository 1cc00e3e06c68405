package ssb

import "bytes"

// Messages returns the first n messages of the suite's data set. The same seed gives the same
// messages.
func Messages(seed uint64, n int) ([][]byte, error) {
	g, err := newGenerator(dataMessages, seed)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, n)
	buf := make([]byte, 0, valueBytes)
	for i := range values {
		buf = g.append(buf[:0])
		values[i] = bytes.Clone(buf)
	}
	return values, nil
}
