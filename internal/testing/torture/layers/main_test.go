package layers

import (
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often. With heaps of a few megabytes, collections would take half
// of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
