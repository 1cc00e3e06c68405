package load

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
)

// reads measures the gets and walks after the load. It makes them all if the memory that they take
// is wanted.
func (r *run) reads() error {
	all := r.wantsMemory()
	if all || r.job.Wants("get_1") {
		if err := r.gets("get_1"); err != nil {
			return err
		}
	}
	if all || r.job.Wants("get_128") {
		if err := r.crowds(); err != nil {
			return err
		}
	}
	if all || r.job.Wants("iterate") {
		if err := r.walks("iterate", false); err != nil {
			return err
		}
	}
	if all || r.job.Wants("iterate_keys") {
		return r.walks("iterate_keys", true)
	}
	return nil
}

// readsAgain measures some of them after the churn.
func (r *run) readsAgain() error {
	if r.job.Wants("churn_get") {
		if err := r.gets("churn_get"); err != nil {
			return err
		}
	}
	if r.job.Wants("churn_iterate") {
		return r.walks("churn_iterate", false)
	}
	return nil
}

// purpose returns that of a row's random choices, which differ from round to round.
func (r *run) purpose(row string) string { return fmt.Sprintf("%s %d", row, r.job.Round) }

// gets measures gets of one goroutine, one after the other.
func (r *run) gets(row string) error {
	random := r.random(r.purpose(row))
	g := r.newGetter()
	samples := make([]float64, 0, r.plan.gets)
	for range r.plan.gets {
		r.script.drawGets(r.set, random, r.plan.calls)
		start := time.Now()
		if err := g.get(0, r.plan.calls); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		samples = append(samples, since(start)/float64(r.plan.calls))
	}
	r.record(row, samples...)
	return nil
}

// crowds measures gets of many goroutines.
func (r *run) crowds() error {
	random := r.random(r.purpose("get_128"))
	getters := make([]*getter, crowd)
	for i := range getters {
		getters[i] = r.newGetter()
	}
	n := r.plan.crowdGets
	samples := make([]float64, 0, r.plan.crowds)
	for range r.plan.crowds {
		r.script.drawGets(r.set, random, crowd*n)
		errs := make([]error, crowd)
		var wait sync.WaitGroup
		start := time.Now()
		for i, g := range getters {
			wait.Go(func() { errs[i] = g.get(i*n, (i+1)*n) })
		}
		wait.Wait()
		elapsed := time.Since(start)
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("get_128: %w", err)
		}
		samples = append(samples, float64(crowd*n)/elapsed.Seconds())
	}
	r.record("get_128", samples...)
	return nil
}

// getter makes the gets of a script. It is used by one goroutine at a time.
type getter struct {
	store  engine.Store
	script script
	size   int // of the values
	buf    []byte
}

func (r *run) newGetter() *getter {
	size := r.set.size
	return &getter{store: r.store, script: r.script, size: size, buf: make([]byte, size)}
}

// get makes the gets from the line i up to j, without j, and compares what they return.
func (g *getter) get(i, j int) error {
	for ; i < j; i++ {
		key, last, present := g.script.line(i)
		value, found, err := g.store.Copy(key, g.buf)
		switch {
		case err != nil:
			return err
		case found != present:
			return fmt.Errorf("key %s: found is %t instead of %t", key, found, present)
		case found && len(value) != g.size:
			return fmt.Errorf("key %s: a value of %d bytes instead of %d", key, len(value), g.size)
		case found && lastBytes(value) != last:
			return fmt.Errorf("key %s: a value that is not the one last written", key)
		}
		if cap(value) > cap(g.buf) {
			g.buf = value
		}
	}
	return nil
}

// walks measures copying all entries.
func (r *run) walks(row string, keysOnly bool) error {
	want := engine.Walk{Entries: min(r.set.present, r.plan.walk)}
	want.Bytes = want.Entries * keyBytes
	if !keysOnly {
		want.Bytes += want.Entries * r.set.size
	}
	samples := make([]float64, 0, r.plan.walks)
	for range r.plan.walks {
		start := time.Now()
		got, err := r.store.CopyAll(r.plan.walk, keysOnly)
		elapsed := since(start)
		if err == nil && got != want {
			err = fmt.Errorf("%d entries of %d bytes instead of %d entries of %d bytes",
				got.Entries, got.Bytes, want.Entries, want.Bytes)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		samples = append(samples, elapsed/float64(max(1, want.Entries)))
	}
	r.record(row, samples...)
	return nil
}
