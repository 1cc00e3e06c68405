package ssb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// appendBesideFloor appends to another new database and, before each append, does the least that a
// durable log of the same bytes needs: one write and one sync.
func (r *run) appendBesideFloor() error {
	if !r.job.Wants("append_floor", "append_multiple") {
		return nil
	}
	f, err := newFloor(filepath.Join(r.job.Dir, "floor.log"), r.plan.generated*r.batchBytes())
	if err != nil {
		return err
	}
	if err := r.open("floor"); err != nil {
		return errors.Join(err, f.close())
	}
	floors, multiples, err := r.floorSamples(f)
	if err := errors.Join(err, r.store.Close(), f.close()); err != nil {
		return err
	}
	if r.job.Wants("append_floor") {
		r.record("append_floor", "", floors...)
	}
	if r.job.Wants("append_multiple") {
		r.record("append_multiple", "", multiples...)
	}
	return nil
}

// batchBytes returns the length of the longest batch of messages, with their keys.
func (r *run) batchBytes() int {
	return r.plan.batch * (engine.KeyBytes + r.generator.longest())
}

// floorSamples takes turns with the floor and the database.
func (r *run) floorSamples(f *floor) (floors, multiples []float64, err error) {
	values := make([][]byte, 0, r.plan.batch)
	batches := r.data.len() / r.plan.batch
	var next uint64
	for i := range r.plan.generated {
		first := i % batches * r.plan.batch
		values = r.data.appendValues(values[:0], first, first+r.plan.batch)
		f.prepare(r.job.Order, next, values)
		next += uint64(len(values))

		start := time.Now()
		if err := f.write(r.job.Sync); err != nil {
			return nil, nil, err
		}
		least := since(start)
		start = time.Now()
		if err := r.store.Append(values); err != nil {
			return nil, nil, fmt.Errorf("append: %w", err)
		}
		floors, multiples = append(floors, least), append(multiples, since(start)/least)
	}
	return floors, multiples, nil
}

// floor is a file whose blocks are on disk, so that a sync of what is written into it changes
// nothing but their contents.
type floor struct {
	file *os.File
	at   int64
	buf  []byte // what to write next
}

// newFloor creates a floor of zeros.
func newFloor(path string, size int) (*floor, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, min(size, 1<<20))
	for at := 0; at < size && err == nil; at += len(zeros) {
		_, err = file.WriteAt(zeros[:min(len(zeros), size-at)], int64(at))
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the floor: %w", err), file.Close())
	}
	return &floor{file: file}, nil
}

// prepare makes the bytes of a batch: the keys and the values.
func (f *floor) prepare(order engine.Order, next uint64, values [][]byte) {
	var key [engine.KeyBytes]byte
	f.buf = f.buf[:0]
	for i, value := range values {
		order.Put(key[:], next+uint64(i))
		f.buf = append(append(f.buf, key[:]...), value...)
	}
}

// write writes the prepared bytes after those written before.
func (f *floor) write(sync bool) error {
	n, err := f.file.WriteAt(f.buf, f.at)
	f.at += int64(n)
	if err == nil && sync {
		err = machine.SyncData(f.file)
	}
	return err
}

// close removes the file.
func (f *floor) close() error { return errors.Join(f.file.Close(), os.Remove(f.file.Name())) }
