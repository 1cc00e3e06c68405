package torture

import (
	"flag"
	"runtime/debug"
	"testing"
)

// thorough makes tests that go through all cases of a kind try each; otherwise they try a sample.
var thorough = flag.Bool("thorough", false, "try every case where tests would try a sample")

// stride returns the distance between the cases that are tried: n, or 1 to try every case.
func stride(n int) int {
	if *thorough {
		return 1
	}
	return n
}

// TestMain collects garbage less often, as long as memory stays below two gigabytes. With heaps of
// a few megabytes, collections would take half of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(2 << 30)
	m.Run()
}
