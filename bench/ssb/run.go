package ssb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job       suite.Job
	plan      plan
	engine    engine.Engine
	out       suite.Record
	generator *generator

	store  engine.Store
	data   *messages
	sorted keyOrder      // of data
	keys   [][]byte      // of the read being prepared; reused
	base   machine.Usage // just before the engine is opened
	extra  int           // messages put in addition to data
	cap    int64         // bytes of memory, while this process's are limited; else 0
}

// messages is the task "messages".
func (r *run) messages() (err error) {
	if err := r.generate(); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	lift, err := r.capMemory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lift()) }()
	steps := []struct {
		name string
		do   func() error
	}{
		{"load", r.load},
		{"read after load", func() error { return r.reads(loaded) }},
		{"settle", r.settle},
		{"read after settling", func() error { return r.reads(settled) }},
		{"short transactions", r.shortReads},
		{"close", r.closeAndWeigh},
		{"open again and again", r.openings},
		{"read after reopening", func() error { return r.reads(reopened) }},
		{"read with little memory", r.readsCapped},
		{"resources", func() error { return r.resources("total") }},
		{"put", r.puts},
		{"close at the end", func() error { return r.store.Close() }},
		{"append and generate", r.appendGenerated},
		{"append and write beside", r.appendBesideFloor},
		{"close after a load", r.closeAtOnce},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// size is the task "size".
func (r *run) size() error {
	batch, err := newMessages(r.plan.sizeBatch, r.generator.longest())
	if err != nil {
		return err
	}
	if err := r.open("size"); err != nil {
		return err
	}
	var values [][]byte
	for left := r.plan.sizeMessages; left > 0; left -= len(values) {
		batch.fill(r.generator)
		values = batch.appendValues(values[:0], 0, min(batch.len(), left))
		if err := r.store.Append(values); err != nil {
			return fmt.Errorf("append with %d messages left: %w", left, err)
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.store.Close(); err != nil {
		return err
	}
	return r.weigh("size", r.plan.sizeMessages)
}

// generate makes the messages and notes the resources used so far.
func (r *run) generate() (err error) {
	if r.data, err = newMessages(r.plan.messages, r.generator.longest()); err != nil {
		return err
	}
	r.data.fill(r.generator)
	r.prepareReads()
	debug.FreeOSMemory()
	r.base, err = machine.Now()
	return err
}

// goShare is the part of limited memory that is the memory limit of Go's runtime, as a divisor: it
// collects in time to leave as much to the page cache and to memory outside its heap.
const goShare = 2

// capMemory limits this process's memory until lift is called, if the user has given a limit. What
// is already there, such as the messages, does not count.
func (r *run) capMemory() (lift func() error, err error) {
	if r.job.Memory == 0 {
		return func() error { return nil }, nil
	}
	debug.SetMemoryLimit(r.job.Memory / goShare)
	r.cap = r.job.Memory
	return machine.CapMemory(r.cap)
}

// settle leaves the engine idle until it has finished deferred work.
func (r *run) settle() error {
	_, _, err := r.plan.settler.Wait()
	return err
}

// closeAndWeigh measures the first Close and the size on disk after it.
func (r *run) closeAndWeigh() error {
	start := time.Now()
	if err := r.store.Close(); err != nil {
		return err
	}
	if r.job.Wants("close") {
		r.record("close", "", since(start))
	}
	if sizeApart(r.job.Settings) || !r.job.Wants("size") {
		return nil // the other task measures the size, or it is not wanted
	}
	return r.weigh("main", r.plan.messages)
}

// weigh measures the size on disk of the closed database in the folder name.
func (r *run) weigh(name string, messages int) error {
	size, err := machine.SizeOf(filepath.Join(r.job.Dir, name))
	if err != nil {
		return err
	}
	r.record("size", "apparent", float64(size.Apparent)/float64(messages))
	r.record("size", "allocated", float64(size.Allocated)/float64(messages))
	return nil
}

// openings measures Open and leaves the database open.
func (r *run) openings() error {
	var samples []float64
	for range r.plan.opens {
		start := time.Now()
		if err := r.open("main"); err != nil {
			return err
		}
		samples = append(samples, since(start))
		if err := r.store.Close(); err != nil {
			return err
		}
	}
	if r.job.Wants("open") {
		r.record("open", "", samples...)
	}
	return r.open("main")
}

// open opens the database in the folder name.
func (r *run) open(name string) (err error) {
	dir := filepath.Join(r.job.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r.store, err = r.engine.Open(dir, engine.Options{
		Sync: r.job.Sync, Order: r.job.Order, LittleMemory: r.job.Memory > 0,
	})
	return err
}

// resources records what the engine has used from when it was first opened up to this state. Values
// that the system does not report are not recorded.
func (r *run) resources(state string) error {
	now, err := machine.Now()
	if err != nil {
		return err
	}
	if state == "total" && !r.plan.evenReads {
		now.CPU, now.WrittenKnown = 0, false // the engines did not all read as often
	}
	if r.job.Wants("cpu") && now.CPU > 0 {
		r.record("cpu", state, float64(now.CPU-r.base.CPU))
	}
	if r.job.Wants("written") && now.WrittenKnown {
		r.record("written", state, float64(now.Written-r.base.Written))
	}
	if state != "total" || !r.job.Wants("memory") || now.Peak == 0 {
		return nil
	}
	base := r.base.Anon + r.base.File
	r.record("memory", "base", float64(base))
	r.record("memory", "peak", float64(now.Peak))
	r.record("memory", "own", float64(now.Peak-base))
	r.record("memory", "anon", float64(now.Anon))
	r.record("memory", "file", float64(now.File))
	return nil
}

// record passes on samples of a row in one state.
func (r *run) record(row, state string, values ...float64) {
	r.out(suite.At{Row: row, State: state}, values...)
}

// since returns the nanoseconds since start.
func since(start time.Time) float64 { return float64(time.Since(start)) }
