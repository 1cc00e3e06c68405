//go:build !race

package replica

import "testing"

// idleMax is the most that a session may take while nothing happens, on one side: the goroutines'
// stacks, and what is in use of the heap. Two thirds of it are those of TLS.
const idleMax = 32 << 10

// The race detector takes memory of its own, so the test is not there with it.
func TestServe_idleClientsTakeLittleMemory(t *testing.T) {
	size := sizeWhileIdle(t, 200)
	t.Logf("%d B a side", size)
	if size > idleMax {
		t.Errorf("%d B a side, of at most %d", size, idleMax)
	}
}
