package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// batchSamples is how many samples of load_batch are kept at most.
const batchSamples = 1_000

// load makes the writes of the load, and closes the database.
func (r *run) load() error {
	w := r.loaded
	d, err := r.writeAndClose(w, true)
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
	w := r.newWrites("churn", r.plan.churn*r.plan.entries, true)
	before, err := machine.Now()
	if err != nil {
		return err
	}
	d, err := r.writeAndClose(w, r.plan.waits)
	if err != nil {
		return err
	}
	r.record("churn", float64(d.written)/float64(w.total))
	if d.ended {
		r.record("churn_settled", float64(d.settled)/float64(w.total))
	}
	return r.resources("churn_cpu", "churn_written", before, w.drawn)
}

// durations are what writes have taken.
type durations struct {
	batches []batch
	written time.Duration // to the last acknowledged batch
	closing time.Duration
	settled time.Duration // to the end of background work, and closing
	ended   bool          // the end of the background work is known, and so is settled
}

// writeAndClose makes the writes and closes the database, after it has waited for the end of the
// background work if it is told so. An engine that puts work off does it in Close at the latest.
func (r *run) writeAndClose(w *writes, wait bool) (d durations, err error) {
	if d.batches, err = r.write(w); err != nil {
		return d, err
	}
	d.written = total(d.batches)
	var worked time.Duration
	if wait {
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

// writes is a number of random writes, of which as many are drawn up as a script has room for.
type writes struct {
	total   int
	left    int // to be drawn up
	part    int // drawn up
	deletes bool
	random  *rand.Rand
	drawn   time.Duration // what drawing up took, but for the first part
}

// newWrites draws up the first part of n writes.
func (r *run) newWrites(name string, n int, deletes bool) *writes {
	w := &writes{total: n, left: n, deletes: deletes, random: r.random(name)}
	w.next(r)
	return w
}

// next draws up the next part, which is empty at the end.
func (w *writes) next(r *run) {
	w.part = min(w.left, r.script.room())
	w.left -= w.part
	r.script.drawWrites(r.set, w.random, w.part, w.deletes)
}

// batch is what it took to write some entries in one transaction, or, with no entries, to draw up
// the next part of them.
type batch struct {
	entries int
	elapsed time.Duration
}

// write makes the writes. The clock runs while it draws some up.
func (r *run) write(w *writes) ([]batch, error) {
	batches := make([]batch, 0, w.total/r.plan.batch+2*(w.total/r.script.room()+1))
	pairs := make([]engine.Pair, 0, r.plan.batch)
	for w.part > 0 {
		last := time.Now()
		for i := 0; i < w.part; i += len(pairs) {
			pairs = r.script.appendPairs(pairs[:0], r.set, i, min(i+r.plan.batch, w.part))
			if err := r.store.Write(pairs); err != nil {
				return nil, fmt.Errorf("write with %d entries to go: %w", w.left+w.part-i, err)
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

// total returns what all batches took.
func total(batches []batch) (sum time.Duration) {
	for _, b := range batches {
		sum += b.elapsed
	}
	return sum
}

// recordBatches records what whole batches took: of many only every second, third and so on.
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

// recordCurve records how fast the entries were acknowledged.
func (r *run) recordCurve(batches []batch) {
	width := sliceWidth(total(batches))
	for i, rate := range rates(batches, width) {
		end := time.Duration(i+1) * width
		r.recordAt("curve", end.Seconds(), rate)
	}
}

// sliceWidth returns the width of the slices to divide a time into: of 1, 2, 5, 10 and so on the
// first one that makes no more than 60, and so about 25 to 60 of them. Thus runs that took about as
// long have the same.
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

// rates returns the entries per second in each slice of the time that the batches took. Those of a
// batch are spread evenly over its time. The last slice counts as far as it was used.
func rates(batches []batch, width time.Duration) []float64 {
	var rates []float64
	var entries float64    // in the slice under way
	var used time.Duration // of the slice under way
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
