package ssb

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
)

// load appends all messages to a new database and leaves it open.
func (r *run) load() error {
	if err := r.open("main"); err != nil {
		return err
	}
	var watch memoryWatch
	samples, err := r.fill(func() error {
		if !r.job.Wants("memory_load") {
			return nil
		}
		return watch.look(r.store)
	})
	if err != nil {
		return err
	}
	if r.job.Wants("append") {
		r.record("append", "", samples...)
	}
	watch.record(r)
	return r.resources("load")
}

// fill appends all messages to the open database, and returns the times of full batches; a shorter
// last one is not comparable. It calls after when a batch has been appended.
func (r *run) fill(after func() error) (samples []float64, err error) {
	values := make([][]byte, 0, r.plan.batch)
	for i := 0; i < r.data.len(); i += len(values) {
		values = r.data.appendValues(values[:0], i, min(i+r.plan.batch, r.data.len()))
		start := time.Now()
		if err := r.store.Append(values); err != nil {
			return nil, fmt.Errorf("append after %d messages: %w", i, err)
		}
		if len(values) == r.plan.batch {
			samples = append(samples, since(start))
		}
		if err := after(); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// appendGenerated appends to another new database, and includes making the messages in the time.
func (r *run) appendGenerated() error {
	if !r.job.Wants("append_generate") {
		return nil
	}
	if err := r.open("generated"); err != nil {
		return err
	}
	batch, err := newMessages(r.plan.batch, r.generator.longest())
	if err != nil {
		return err
	}
	var samples []float64
	values := make([][]byte, 0, r.plan.batch)
	for range r.plan.generated {
		start := time.Now()
		batch.fill(r.generator)
		values = batch.appendValues(values[:0], 0, batch.len())
		if err := r.store.Append(values); err != nil {
			return err
		}
		samples = append(samples, since(start))
	}
	r.record("append_generate", "", samples...)
	return r.store.Close()
}

// puts measures transactions of one message each, after the loaded messages.
func (r *run) puts() error {
	if r.job.Wants("put_one") {
		samples := make([]float64, 0, r.plan.puts)
		for range r.plan.puts {
			key, value := r.nextPair()
			start := time.Now()
			if err := r.store.Put(key, value, engine.OneWriter); err != nil {
				return err
			}
			samples = append(samples, since(start))
		}
		r.record("put_one", "", samples...)
	}
	if !r.job.Wants("put_parallel") {
		return nil
	}
	for _, workers := range []int{1, 8, 64, 512} {
		var samples []float64
		for range r.plan.parallelSamples {
			rate, err := r.putParallel(workers, r.plan.parallelPuts)
			if err != nil {
				return err
			}
			samples = append(samples, rate)
		}
		r.record("put_parallel", strconv.Itoa(workers), samples...)
	}
	return nil
}

// putParallel starts goroutines that put some messages each, or fewer if that takes too long, and
// returns the commits per second.
func (r *run) putParallel(workers, puts int) (float64, error) {
	type pair struct{ key, value []byte }
	pairs := make([]pair, workers*puts)
	for i := range pairs {
		pairs[i].key, pairs[i].value = r.nextPair()
	}
	errs := make([]error, workers)
	var done atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for w := range workers {
		wait.Go(func() {
			for _, p := range pairs[w*puts : (w+1)*puts] {
				if errs[w] = r.store.Put(p.key, p.value, engine.Writers(workers > 1)); errs[w] != nil {
					return
				}
				if done.Add(1); time.Since(start) > r.plan.parallelTime {
					return
				}
			}
		})
	}
	wait.Wait()
	elapsed := time.Since(start)
	return float64(done.Load()) / elapsed.Seconds(), errors.Join(errs...)
}

// nextPair returns a message and a key after all existing keys.
func (r *run) nextPair() (key, value []byte) {
	key = make([]byte, engine.KeyBytes)
	r.job.Order.Put(key, uint64(r.data.len()+r.extra))
	value = r.data.value(r.extra % r.data.len())
	r.extra++
	return key, value
}
