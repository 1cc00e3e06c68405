package docs

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/machine"
)

// kind is a kind of data.
type kind struct {
	name string
	// write appends a document of at least the given size to the writer's buffer, and at most a line
	// or a list element more.
	write func(w *writer, bytes int)
}

// kinds returns the kinds in the order of the report.
func kinds() []kind {
	return []kind{
		{"json", (*writer).json},
		{"source", (*writer).source},
		{"log", (*writer).log},
		{"random", (*writer).noise},
	}
}

// Documents of a size are between these percentages of it, uniformly distributed.
const (
	shortest = 80
	spread   = 40
)

// slack is how much longer than requested a document may be.
const slack = 2 << 10

// documents returns count documents of a kind, in memory outside the Go heap.
func (w *writer) documents(k kind, bytes, count int) ([][]byte, error) {
	room, err := machine.Anonymous(count * (bytes*(shortest+spread)/100 + slack))
	if err != nil {
		return nil, fmt.Errorf("make room for %d documents of %d bytes: %w", count, bytes, err)
	}
	w.buf = room[:0]
	documents := make([][]byte, count)
	for i := range documents {
		start := len(w.buf)
		k.write(w, bytes*(shortest+w.random.IntN(spread+1))/100)
		documents[i] = w.buf[start:len(w.buf):len(w.buf)]
	}
	return documents, nil
}

// noise appends incompressible random bytes.
func (w *writer) noise(bytes int) {
	for end := len(w.buf) + bytes; len(w.buf) < end; {
		for v, i := w.random.Uint64(), 0; i < 8 && len(w.buf) < end; i++ {
			w.buf = append(w.buf, byte(v>>(8*i)))
		}
	}
}
