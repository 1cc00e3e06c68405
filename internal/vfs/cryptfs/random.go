package cryptfs

import (
	"crypto/rand"
	"fmt"
)

// random returns n bytes that nobody can guess.
func random(n int) ([]byte, error) {
	p := make([]byte, n)
	if _, err := rand.Read(p); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return p, nil
}
