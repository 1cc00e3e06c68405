package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
)

// besides does the job of the gets beside a load.
func (r *run) besides() error {
	if err := r.steps("load", r.prepare, r.open, r.loadBeside, r.close); err != nil {
		return err
	}
	return r.steps("check", r.open, r.check, r.close)
}

// loadBeside makes the writes of the load while another goroutine reads.
func (r *run) loadBeside() error {
	b := &pacedReader{
		store: r.store, set: r.set, script: r.script, acked: &r.acked, pace: r.plan.pace,
		random: r.random(r.purpose("beside")), buf: make([]byte, r.set.size),
	}
	var latencies []time.Duration
	var failure error
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { latencies, failure = b.read(done) })
	batches, err := r.write(r.loaded)
	close(done)
	wait.Wait()
	if failure != nil {
		failure = fmt.Errorf("get during the load: %w", failure)
	}
	if err := errors.Join(err, failure); err != nil {
		return err
	}
	slices.Sort(latencies)
	r.record("beside_p50", within(latencies, 0.5))
	r.record("beside_p99", within(latencies, 0.99))
	r.record("beside_p999", within(latencies, 0.999))
	r.record("beside_load", float64(total(batches))/float64(r.loaded.total))
	return nil
}

// within returns the smallest of the sorted durations that is not exceeded by the given share of
// them. There must be at least one.
func within(sorted []time.Duration, share float64) float64 {
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return float64(sorted[max(0, i)])
}

// pacedReader gets keys that a load has written, at a steady pace. All writes of the load must have
// been prepared, so that neither the set nor the script changes during the load.
type pacedReader struct {
	store  engine.Store
	set    *entrySet
	script script
	acked  *atomic.Int64 // acknowledged lines of the script
	pace   time.Duration // time between two gets
	random *rand.Rand
	buf    []byte
}

// read makes gets until done is closed, and at least one. It returns how long each took from when
// it was due: a get that takes longer than the pace delays the next ones, as it would delay clients
// in a queue. Waking up late does not count.
func (b *pacedReader) read(done <-chan struct{}) (latencies []time.Duration, err error) {
	due := time.Now()
	for {
		late := true
		if wait := time.Until(due); wait > 0 {
			late = false
			select {
			case <-done:
			case <-time.After(wait):
			}
		}
		over := closed(done)
		acked := int(b.acked.Load())
		if acked == 0 || !late {
			due = time.Now()
		}
		if acked > 0 && (!over || latencies == nil) {
			latency, err := b.get(b.random.IntN(acked), due)
			if err != nil {
				return nil, err
			}
			latencies = append(latencies, latency)
		}
		if over {
			return latencies, nil
		}
		due = due.Add(b.pace)
	}
}

// closed reports whether a channel on which nothing is sent is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// get gets the key of an acknowledged line and returns the time since the get was due. The value
// must be the one of that line or a later one.
func (b *pacedReader) get(line int, due time.Time) (latency time.Duration, err error) {
	key, at, _ := b.script.line(line)
	value, found, err := b.store.Copy(key, b.buf)
	latency = time.Since(due)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, fmt.Errorf("key %s: acknowledged but not found", key)
	case len(value) != b.set.size:
		return 0, fmt.Errorf("key %s: a value of %d bytes instead of %d",
			key, len(value), b.set.size)
	case !b.set.since(numberOf(key), at, lastBytes(value)):
		return 0, fmt.Errorf("key %s: the value is older than the last acknowledged one", key)
	}
	if cap(value) > cap(b.buf) {
		b.buf = value
	}
	return latency, nil
}
