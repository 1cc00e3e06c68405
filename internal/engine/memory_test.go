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

func TestMemory_isSharedByTheDatabasesOfAProcess(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30))
	before, o := extras.Load(), Options{}.withDefaults()
	first, second, third := newMemory(&o), newMemory(&o), newMemory(&o)
	first.grow()
	second.grow()
	if got := second.extra.Load(); got > 0 {
		t.Errorf("the second database has %d bytes more, though the first one has them", got)
	}
	taken := first.extra.Load()
	first.close()
	third.grow()
	if got := third.extra.Load(); got != taken {
		t.Errorf("the third database has %d bytes more, want the %d of the closed one", got, taken)
	}
	for _, m := range []*memory{first, second, third} {
		m.close()
		m.grow()
	}
	if now := extras.Load(); now != before {
		t.Errorf("%d bytes are taken by closed databases", now-before)
	}
}

func TestMemory_keepsToTheLimitThatWasSet(t *testing.T) {
	if o := (Options{MemoryLimit: defaultMemoryLimit}).withDefaults(); o.growsMemory {
		t.Error("decoded blocks may exceed the limit that the user has set")
	}
}
