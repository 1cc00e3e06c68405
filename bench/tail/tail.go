// Package tail keeps the end of what a process complains about.
package tail

import "bytes"

// Writer is an [io.Writer] that keeps the last bytes written to it. It is not safe for concurrent
// use.
type Writer struct{ kept []byte }

// Bytes is how much a Writer keeps.
const Bytes = 2000

// Write keeps the end of what was written so far.
func (w *Writer) Write(b []byte) (int, error) {
	w.kept = append(w.kept, b...)
	w.kept = w.kept[max(0, len(w.kept)-Bytes):]
	return len(b), nil
}

// String returns what was kept, without the space around it.
func (w *Writer) String() string { return string(bytes.TrimSpace(w.kept)) }
