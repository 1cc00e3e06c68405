package advise

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// How much of everything the task does.
const (
	batchPairs = 1_000
	batchBytes = 4 << 20 // large pairs make smaller batches, since some engines accept no more
	leastGets  = 1_000   // minimum for a sample, however few pairs there are
	mostGets   = 10_000
	leastSteps = 1_000 // minimum for a sample of iterations, which are repeated for that
	samples    = 3     // of the rows that read
)

// values is the task "values" in progress.
type values struct {
	job    suite.Job
	engine engine.Engine
	out    suite.Record
	in     input

	store  engine.Store
	pairs  []engine.Pair
	extent extent
}

// measureValues measures an engine with the pairs of the input as they are.
func measureValues(job suite.Job, in input, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	v := &values{job: job, engine: e, out: record, in: in}
	steps := []struct {
		name string
		do   func() error
	}{
		{"read the data", v.prepare},
		{"open", v.open},
		{"load", v.load},
		{"close", v.closeAndWeigh},
		{"open again", v.open},
		{"get", v.gets},
		{"iterate", v.iterate},
		{"compare", v.compare},
		{"close at the end", func() error { return v.store.Close() }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (v *values) prepare() (err error) {
	v.pairs, v.extent, err = v.in.pairs(v.job.N)
	debug.FreeOSMemory()
	return err
}

func (v *values) dir() string { return filepath.Join(v.job.Dir, "db") }

func (v *values) open() (err error) {
	if err := os.MkdirAll(v.dir(), 0o700); err != nil {
		return err
	}
	options := engine.Options{Sync: v.job.Sync, Order: engine.BigEndian}
	v.store, err = v.engine.Open(v.dir(), options)
	return err
}

// load writes all pairs in the order of the input.
func (v *values) load() error {
	var total time.Duration
	for left := v.pairs; len(left) > 0; {
		n := batch(left)
		start := time.Now()
		if err := v.store.Write(left[:n]); err != nil {
			return err
		}
		total += time.Since(start)
		left = left[n:]
	}
	v.record(rowLoad, float64(total)/float64(len(v.pairs)))
	return nil
}

// batch returns the number of pairs to write in the next transaction.
func batch(pairs []engine.Pair) int {
	var size int
	for i, p := range pairs[:min(batchPairs, len(pairs))] {
		if size += len(p.Key) + len(p.Value); size > batchBytes {
			return max(1, i)
		}
	}
	return min(batchPairs, len(pairs))
}

// closeAndWeigh closes the database and measures its size on disk.
func (v *values) closeAndWeigh() error {
	if err := v.store.Close(); err != nil {
		return err
	}
	size, err := machine.SizeOf(v.dir())
	if err != nil {
		return err
	}
	bytes := size.Apparent // includes the holes that an engine leaves for later
	if size.Allocated > 0 {
		bytes = min(bytes, size.Allocated) // includes the blocks that an engine allocates for later
	}
	v.record(rowSize, float64(bytes)/float64(len(v.pairs)))
	return nil
}

// gets reads random values in one transaction each.
func (v *values) gets() error {
	random := rand.New(rand.NewPCG(v.job.Seed, uint64(v.job.Round)))
	chosen := make([]int, min(max(len(v.pairs), leastGets), mostGets))
	var buf []byte
	for range samples {
		for i := range chosen {
			chosen[i] = random.IntN(len(v.pairs))
		}
		start := time.Now()
		for _, i := range chosen {
			value, found, err := v.store.Copy(v.pairs[i].Key, buf)
			if err != nil {
				return err
			}
			if !found || len(value) != len(v.pairs[i].Value) {
				return errWrong
			}
			buf = value
		}
		v.record(rowGet, float64(time.Since(start))/float64(len(chosen)))
	}
	return nil
}

// errWrong is the error for an engine that returns wrong data.
var errWrong = errors.New("the engine returned a value other than the one written")

// iterate walks over all pairs, as often as one sample needs.
func (v *values) iterate() error {
	walks := 1 + (leastSteps-1)/len(v.pairs)
	for range samples {
		start := time.Now()
		for range walks {
			walk, err := v.store.CopyAll(len(v.pairs), engine.KeysAndValues)
			if err != nil {
				return err
			}
			size := v.extent.KeyBytes + v.extent.ValueBytes
			if walk.Entries != len(v.pairs) || int64(walk.Bytes) != size {
				return fmt.Errorf("%d pairs of %d bytes instead of %d of %d",
					walk.Entries, walk.Bytes, len(v.pairs), size)
			}
		}
		v.record(rowIterate, float64(time.Since(start))/float64(walks*len(v.pairs)))
	}
	return nil
}

// compare compares every value with what was written.
func (v *values) compare() error {
	var buf []byte
	for _, p := range v.pairs {
		value, found, err := v.store.Copy(p.Key, buf)
		if err != nil {
			return err
		}
		if !found || !bytes.Equal(value, p.Value) {
			return errWrong
		}
		buf = value
	}
	return nil
}

func (v *values) record(row string, values ...float64) {
	v.out(suite.At{Row: row}, values...)
}
