// Package tail keeps the beginning and the end of a process's error output: a panic gives its
// reason first, and most programs give theirs last.
package tail

import (
	"bytes"
	"fmt"
)

// Writer is an [io.Writer] that keeps the first and the last bytes written to it. It is not safe
// for concurrent use.
type Writer struct {
	first, last []byte
	dropped     int // bytes between them
}

// Bytes is how much a Writer keeps of each end.
const Bytes = 1000

// Write keeps both ends of what was written so far.
func (w *Writer) Write(b []byte) (int, error) {
	n := min(len(b), Bytes-len(w.first))
	w.first = append(w.first, b[:n]...)
	w.last = append(w.last, b[n:]...)
	over := max(0, len(w.last)-Bytes)
	w.last = w.last[over:]
	w.dropped += over
	return len(b), nil
}

// String returns what was kept, without surrounding space, and marks where bytes are missing.
func (w *Writer) String() string {
	text := bytes.Clone(w.first)
	if w.dropped > 0 {
		text = fmt.Appendf(text, "\n[%d bytes left out]\n", w.dropped)
	}
	return string(bytes.TrimSpace(append(text, w.last...)))
}
