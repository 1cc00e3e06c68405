package engine

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestMemory_growsByDefaultWithTheMachine(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct{ allowed, extra int64 }{
		{512 << 20, 0},
		{math.MaxInt64, maxDefaultLimit/heapShare - defaultMemoryLimit/heapShare},
	} {
		o := Options{}.withDefaults()
		m := newMemory(&o)
		debug.SetMemoryLimit(c.allowed)
		m.grow()
		if got := m.extra.Load(); got < 0 || got > c.extra {
			t.Errorf("of %d bytes, decoded blocks get %d more, want 0 to %d", c.allowed, got, c.extra)
		}
	}
}

func TestMemory_keepsToTheLimitThatWasSet(t *testing.T) {
	if o := (Options{MemoryLimit: defaultMemoryLimit}).withDefaults(); o.growsMemory {
		t.Error("decoded blocks may exceed the limit that the user has set")
	}
}
