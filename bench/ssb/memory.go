package ssb

import (
	"runtime/metrics"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// memoryWatch keeps what memory is used for when the process has the most of it. The zero value is
// ready.
type memoryWatch struct {
	resident         int64
	memtables, cache int64 // if the engine tells
	told             bool
	slack            int64 // see goSlack
}

// look looks at the memory of this process and of the engine.
func (m *memoryWatch) look(store engine.Store) error {
	now, err := machine.Now()
	if err != nil {
		return err
	}
	if now.Anon+now.File <= m.resident {
		return nil
	}
	m.resident, m.slack = now.Anon+now.File, goSlack()
	if s, ok := store.(engine.Memory); ok {
		m.memtables, m.cache = s.Memory()
		m.told = true
	}
	return nil
}

// record passes on what the watch has seen, if anything.
func (m *memoryWatch) record(r *run) {
	if m.resident == 0 {
		return
	}
	r.record("memory_load", "own", float64(m.resident-r.base.Anon-r.base.File))
	if m.told {
		r.record("memory_load", "memtables", float64(m.memtables))
		r.record("memory_load", "cache", float64(m.cache))
	}
	r.record("memory_load", "slack", float64(m.slack))
}

// goSlack returns the bytes of Go's heap that hold no live object: garbage that the collector has
// not found yet, and memory that it keeps for new objects.
func goSlack() int64 {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	var total int64
	for i, s := range samples {
		switch {
		case s.Value.Kind() != metrics.KindUint64:
		case i == 0:
			total -= int64(s.Value.Uint64())
		default:
			total += int64(s.Value.Uint64())
		}
	}
	return max(0, total)
}
