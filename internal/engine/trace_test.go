package engine

import (
	"bytes"
	"runtime/trace"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestTrace_showsTheWork checks that a trace names what was done. Go has no parser of traces that
// may be imported, but the names stand in them as they are.
func TestTrace_showsTheWork(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are traced")
	}
	o := calm()
	o.Tuning.MemtableBytes, o.Tuning.SpillBytes, o.Tuning.UnspilledBytes = 32<<10, 32<<10, 32<<10
	e := mustOpen(t, memfs.New(), o)
	var traced bytes.Buffer
	ok(t, trace.Start(&traced))
	overlap(t, e, 2)
	ok(t, e.Compact(t.Context()))
	w, err := e.Begin()
	ok(t, err)
	for i := range 3 {
		ok(t, w.Put(dataKey("%d", i), make([]byte, 32<<10), 0))
	}
	ok(t, w.Commit())
	trace.Stop()
	for _, name := range []string{
		"stoat.begin", "stoat.commit", "stoat.write", "stoat.flush", "stoat.compaction", "stoat.spill",
		"2 young runs, ", // of the compaction's message
	} {
		if !bytes.Contains(traced.Bytes(), []byte(name)) {
			t.Errorf("the trace does not show %q", name)
		}
	}
}
