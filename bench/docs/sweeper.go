package docs

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/machine"
)

// sweeper flushes the processor's caches, as a program's other work does between two reads. It is a
// buffer larger than the caches.
type sweeper []byte

// caches is the state of the processor's caches before a get.
type caches bool

const (
	cachesAsTheyAre caches = false
	sweptCaches     caches = true
)

// newSweeper returns a sweeper with a buffer of that many bytes.
func newSweeper(bytes int) (sweeper, error) {
	s, err := machine.Anonymous(bytes)
	if err != nil {
		return nil, fmt.Errorf("make room to flush the processor's caches: %w", err)
	}
	return s, nil
}

// sweep writes to each cache line of the buffer.
func (s sweeper) sweep() {
	const line = 64
	for i := 0; i < len(s); i += line {
		s[i]++
	}
}
