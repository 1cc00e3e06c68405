package load

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
)

// rowChoice says which rows to measure.
type rowChoice bool

const (
	wantedRows rowChoice = false
	allRows    rowChoice = true
)

// readsLoaded measures the gets and walks after the load. It makes all of them if their memory is
// to be measured.
func (r *run) readsLoaded() error { return r.reads("", r.plan.reads, rowChoice(r.wantsMemory())) }

// reads measures the gets and walks whose row names begin with the prefix: those that are wanted,
// or all.
func (r *run) reads(prefix string, e effort, choice rowChoice) error {
	for _, row := range []struct {
		name string
		read func(row string) error
	}{
		{"get_1", func(row string) error { return r.gets(row, e) }},
		{"get_128", func(row string) error { return r.getsParallel(row, e) }},
		{"iterate", func(row string) error { return r.walks(row, e, engine.KeysAndValues) }},
		{"iterate_keys", func(row string) error { return r.walks(row, e, engine.KeysOnly) }},
	} {
		name := prefix + row.name
		if choice == wantedRows && !r.job.Wants(name) {
			continue
		}
		if err := row.read(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// readsAgain measures some of them after the churn.
func (r *run) readsAgain() error {
	if r.job.Wants("churn_get") {
		if err := r.gets("churn_get", r.plan.reads); err != nil {
			return fmt.Errorf("churn_get: %w", err)
		}
	}
	if !r.job.Wants("churn_iterate") {
		return nil
	}
	if err := r.walks("churn_iterate", r.plan.reads, engine.KeysAndValues); err != nil {
		return fmt.Errorf("churn_iterate: %w", err)
	}
	return nil
}

// purpose names a row's random choices, which differ from round to round.
func (r *run) purpose(row string) string { return fmt.Sprintf("%s %d", row, r.job.Round) }

// gets measures the gets of one goroutine.
func (r *run) gets(row string, e effort) error {
	random := r.random(r.purpose(row))
	g := r.newGetter()
	samples := make([]float64, 0, e.gets)
	for begun := time.Now(); !e.enough(len(samples), e.gets, begun); {
		r.script.drawGets(r.set, random, r.plan.calls)
		start := time.Now()
		if err := g.get(0, r.plan.calls); err != nil {
			return err
		}
		samples = append(samples, since(start)/float64(r.plan.calls))
	}
	r.record(row, samples...)
	return nil
}

// getsParallel measures gets of many goroutines.
func (r *run) getsParallel(row string, e effort) error {
	random := r.random(r.purpose(row))
	getters := make([]*getter, goroutines)
	for i := range getters {
		getters[i] = r.newGetter()
	}
	n := e.parallelGets
	samples := make([]float64, 0, e.parallelSamples)
	for begun := time.Now(); !e.enough(len(samples), e.parallelSamples, begun); {
		r.script.drawGets(r.set, random, goroutines*n)
		errs := make([]error, goroutines)
		var wait sync.WaitGroup
		start := time.Now()
		for i, g := range getters {
			wait.Go(func() { errs[i] = g.get(i*n, (i+1)*n) })
		}
		wait.Wait()
		elapsed := time.Since(start)
		if err := errors.Join(errs...); err != nil {
			return err
		}
		samples = append(samples, float64(goroutines*n)/elapsed.Seconds())
	}
	r.record(row, samples...)
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

// get makes the gets of the lines in [i, j) and compares their results.
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
			return fmt.Errorf("key %s: the value is not the last one written", key)
		}
		if cap(value) > cap(g.buf) {
			g.buf = value
		}
	}
	return nil
}

// walks measures copying all entries.
func (r *run) walks(row string, e effort, part engine.Part) error {
	samples := make([]float64, 0, e.walks)
	for begun := time.Now(); !e.enough(len(samples), e.walks, begun); {
		elapsed, entries, err := r.walk(part)
		if err != nil {
			return err
		}
		samples = append(samples, elapsed/float64(max(1, entries)))
	}
	r.record(row, samples...)
	return nil
}

// walk copies all entries once, and returns the nanoseconds it took and the number of entries.
func (r *run) walk(part engine.Part) (elapsed float64, entries int, err error) {
	want := engine.Walk{Entries: min(r.set.present, r.plan.walk)}
	want.Bytes = want.Entries * keyBytes
	if part == engine.KeysAndValues {
		want.Bytes += want.Entries * r.set.size
	}
	start := time.Now()
	got, err := r.store.CopyAll(r.plan.walk, part)
	elapsed = since(start)
	if err == nil && got != want {
		err = fmt.Errorf("%d entries of %d bytes instead of %d entries of %d bytes",
			got.Entries, got.Bytes, want.Entries, want.Bytes)
	}
	return elapsed, want.Entries, err
}

// check compares some gets and a walk with what was written, without measuring.
func (r *run) check() error {
	r.script.drawGets(r.set, r.random("check"), r.plan.calls)
	if err := r.newGetter().get(0, r.plan.calls); err != nil {
		return err
	}
	_, _, err := r.walk(engine.KeysAndValues)
	return err
}
