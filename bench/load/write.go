package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// batchSamples is the maximum number of samples of load_batch.
const batchSamples = 1_000

// load makes the writes of the load and closes the database.
func (r *run) load() error {
	w := r.loaded
	d, err := r.writeAndClose(w, settled)
	if err != nil {
		return err
	}
	r.record("load", float64(d.written)/float64(w.total))
	if d.ended {
		r.record("load_settled", float64(d.settled)/float64(w.total))
	}
	r.record("close", float64(d.closing))
	r.recordBatches(d.batches)
	r.recordCurve(d.batches)
	return r.resources("cpu", "written", r.base, w.drawn)
}

// churn overwrites and deletes random entries, and closes the database.
func (r *run) churn() error {
	w := r.newWrites("churn", r.plan.churn*r.plan.entries, putsAndDeletes)
	before, err := machine.Now()
	if err != nil {
		return err
	}
	d, err := r.writeAndClose(w, r.plan.closing)
	if err != nil {
		return err
	}
	r.record("churn", float64(d.written)/float64(w.total))
	if d.ended {
		r.record("churn_settled", float64(d.settled)/float64(w.total))
	}
	return r.resources("churn_cpu", "churn_written", before, w.drawn)
}

// durations are the times that writes took.
type durations struct {
	batches []batch
	written time.Duration // up to the last acknowledged batch
	closing time.Duration
	settled time.Duration // up to the end of background work and Close
	ended   bool          // the end of the background work, and so settled, is known
}

// closing says when to close a database after writes.
type closing bool

const (
	atOnce  closing = false
	settled closing = true // after the background work has ended
)

// writeAndClose makes the writes and closes the database. An engine finishes deferred work in Close
// at the latest.
func (r *run) writeAndClose(w *writes, c closing) (d durations, err error) {
	if d.batches, err = r.write(w); err != nil {
		return d, err
	}
	d.written = total(d.batches)
	var worked time.Duration
	if c == settled {
		if worked, d.ended, err = r.plan.settler.Wait(); err != nil {
			return d, err
		}
	}
	start := time.Now()
	if err := r.close(); err != nil {
		return d, err
	}
	d.closing = time.Since(start)
	d.settled = d.written + worked + d.closing
	d.ended = d.ended && tells(r.base)
	return d, nil
}

// writes is a number of random writes, prepared a script at a time.
type writes struct {
	total  int
	left   int // to be prepared
	part   int // prepared
	kinds  deleting
	random *rand.Rand
	drawn  time.Duration // time spent preparing, except for the first part
}

// newWrites prepares the first part of n writes.
func (r *run) newWrites(name string, n int, kinds deleting) *writes {
	w := &writes{total: n, left: n, kinds: kinds, random: r.random(name)}
	w.next(r)
	return w
}

// next prepares the next part, which is empty at the end.
func (w *writes) next(r *run) {
	w.part = min(w.left, r.script.room())
	w.left -= w.part
	r.script.drawWrites(r.set, w.random, w.part, w.kinds)
}

// batch is the time to write some entries in one transaction or, with no entries, to prepare the
// next part.
type batch struct {
	entries int
	elapsed time.Duration
}

// write makes the writes. The clock also runs while it prepares more.
func (r *run) write(w *writes) ([]batch, error) {
	batches := make([]batch, 0, w.total/r.plan.batch+2*(w.total/r.script.room()+1))
	pairs := make([]engine.Pair, 0, r.plan.batch)
	for w.part > 0 {
		last := time.Now()
		for i := 0; i < w.part; i += len(pairs) {
			pairs = r.script.appendPairs(pairs[:0], r.set, i, min(i+r.plan.batch, w.part))
			if err := r.store.Write(pairs); err != nil {
				return nil, fmt.Errorf("write with %d entries left: %w", w.left+w.part-i, err)
			}
			now := time.Now()
			r.acked.Add(int64(len(pairs)))
			batches = append(batches, batch{len(pairs), now.Sub(last)})
			last = now
		}
		if w.next(r); w.part > 0 {
			drawn := time.Since(last)
			w.drawn += drawn
			batches = append(batches, batch{0, drawn})
		}
	}
	return batches, nil
}

// total returns the total time of the batches.
func total(batches []batch) (sum time.Duration) {
	for _, b := range batches {
		sum += b.elapsed
	}
	return sum
}

// recordBatches records the times of full batches; of many, only every second, third and so on.
func (r *run) recordBatches(batches []batch) {
	every := (len(batches) + batchSamples - 1) / batchSamples
	var samples []float64
	for i := 0; i < len(batches); i += every {
		if batches[i].entries == r.plan.batch {
			samples = append(samples, float64(batches[i].elapsed))
		}
	}
	r.record("load_batch", samples...)
}

// recordCurve records the rate at which entries were acknowledged.
func (r *run) recordCurve(batches []batch) {
	width := sliceWidth(total(batches))
	for i, rate := range rates(batches, width) {
		end := time.Duration(i+1) * width
		r.recordAt("curve", end.Seconds(), rate)
	}
}

// sliceWidth returns the width of the slices to divide a time into: the first of 1, 2, 5, 10 and so
// on that makes at most 60 slices, and therefore about 25 to 60. Runs that took about as long have
// the same width.
func sliceWidth(total time.Duration) time.Duration {
	const most = 60
	for unit := time.Duration(1); ; unit *= 10 {
		for _, width := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if width*most >= total {
				return width
			}
		}
	}
}

// rates returns the entries per second in each slice of the batches' time. The entries of a batch
// are spread evenly over its time. The last slice counts only as far as it was used.
func rates(batches []batch, width time.Duration) []float64 {
	var rates []float64
	var entries float64    // in the current slice
	var used time.Duration // of the current slice
	for _, b := range batches {
		for left := b.elapsed; left > 0; {
			step := min(left, width-used)
			entries += float64(b.entries) * float64(step) / float64(b.elapsed)
			left -= step
			if used += step; used == width {
				rates = append(rates, entries/width.Seconds())
				entries, used = 0, 0
			}
		}
	}
	if used > 0 {
		rates = append(rates, entries/used.Seconds())
	}
	return rates
}
