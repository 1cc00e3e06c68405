package stoat_test

import (
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often, which saves a third of the processor time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
