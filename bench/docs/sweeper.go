package docs

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/machine"
)

// sweeper empties the processor's caches, as other work of a program does between two reads. It is
// memory that is larger than they are.
type sweeper []byte

// newSweeper returns one of so many bytes.
func newSweeper(bytes int) (sweeper, error) {
	s, err := machine.Anonymous(bytes)
	if err != nil {
		return nil, fmt.Errorf("make room to empty the processor's caches: %w", err)
	}
	return s, nil
}

// sweep writes to each line of the caches.
func (s sweeper) sweep() {
	const line = 64
	for i := 0; i < len(s); i += line {
		s[i]++
	}
}
