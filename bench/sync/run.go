package sync

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job   suite.Job
	plan  plan
	local bool // the system does not replicate
	start func() (*program, error)
	out   suite.Record

	running []*program // those that kill must end if the job fails
}

// end ends programs that are left after an error.
func (r *run) end() {
	for _, p := range r.running {
		p.Kill()
	}
}

// noRecord says that opening a database reads no record.
const noRecord = -1

// open starts a program with the database in a folder. Its commits are durable only if the user
// wants that.
func (r *run) open(dir string, o request) (*program, answer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, answer{}, err
	}
	p, err := r.start()
	if err != nil {
		return nil, answer{}, err
	}
	r.running = append(r.running, p)
	o.Do, o.Dir = doOpen, dir
	a, err := p.call(o)
	return p, a, err
}

// close closes a program's database and ends it.
func (r *run) close(p *program) error {
	r.running = slices.DeleteFunc(r.running, func(o *program) bool { return o == p })
	return p.close()
}

// data makes n records, and a file of them.
func (r *run) data(n int) (items []item, file string, err error) {
	items = newItems(r.job.Seed, n)
	file = filepath.Join(r.job.Dir, fmt.Sprintf("records-%d", n))
	return items, file, writeItems(file, items)
}

// load stores n records in a new database, each in a transaction of its own. Only the end of that
// is durable, whatever the user wants.
func (r *run) load(dir, file string, n int) error {
	p, _, err := r.open(dir, request{ID: noRecord})
	if err == nil {
		_, err = p.call(request{Do: doCommit, File: file, To: n, Batch: 1})
	}
	if err == nil {
		err = r.close(p)
	}
	if err != nil {
		return fmt.Errorf("load %d records: %w", n, err)
	}
	return nil
}

// locally is the task "local".
func (r *run) locally() error {
	if r.job.Wants(rowCommit, rowBulk) {
		if err := r.commits(); err != nil {
			return err
		}
	}
	if !r.job.Wants(rowOpen, rowSize, rowPruned) {
		return nil
	}
	for _, n := range r.plan.sizes {
		if err := r.stored(n); err != nil {
			return err
		}
	}
	return nil
}

// commits measures transactions with new records.
func (r *run) commits() error {
	ones := r.plan.commits + 1
	n := ones + (r.plan.bulk+1)*r.plan.batch
	items, file, err := r.data(n)
	if err != nil {
		return err
	}
	p, _, err := r.open(filepath.Join(r.job.Dir, "commits"), request{Sync: r.job.Sync, ID: noRecord})
	if err != nil {
		return err
	}
	one, err := p.call(request{Do: doCommit, File: file, To: ones, Batch: 1})
	if err != nil {
		return err
	}
	many, err := p.call(request{Do: doCommit, File: file, From: ones, To: n, Batch: r.plan.batch})
	if err != nil {
		return err
	}
	r.record(suite.At{Row: rowCommit}, one.Samples[1:]...) // the first fills caches
	r.record(suite.At{Row: rowBulk}, many.Samples[1:]...)
	if err := check(p, items); err != nil {
		return err
	}
	return r.close(p)
}

// stored measures opening a database of n records, and its size.
func (r *run) stored(n int) error {
	_, file, err := r.data(n)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.job.Dir, fmt.Sprintf("stored-%d", n))
	if err := r.load(dir, file, n); err != nil {
		return err
	}
	var samples []float64
	for i := range r.plan.opens {
		p, a, err := r.open(dir, request{Sync: r.job.Sync, ID: int64(i * 7919 % n)})
		if err == nil {
			err = r.close(p)
		}
		if err != nil {
			return err
		}
		samples = append(samples, a.Nanoseconds)
	}
	r.record(suite.At{Row: rowOpen, X: float64(n)}, samples...)
	if err := r.weigh(dir, n, rowSize); err != nil {
		return err
	}
	return supported(r.weigh(dir, n, rowPruned, doPrune))
}

// weigh measures the size of a database of n records, after some commands and once it has compacted
// itself.
func (r *run) weigh(dir string, n int, row string, before ...string) error {
	p, _, err := r.open(dir, request{Sync: r.job.Sync, ID: noRecord})
	if err != nil {
		return err
	}
	for _, do := range before {
		if _, err := p.call(request{Do: do}); err != nil {
			return errors.Join(err, r.close(p))
		}
	}
	if _, err := p.call(request{Do: doSettle}); supported(err) != nil {
		return err
	}
	if err := r.close(p); err != nil {
		return err
	}
	size, err := machine.SizeOf(dir)
	if err == nil {
		r.record(suite.At{Row: row, X: float64(n)}, float64(size.Apparent)/float64(n))
	}
	return err
}

// record records samples of a row if it is wanted.
func (r *run) record(at suite.At, values ...float64) {
	if r.job.Wants(at.Row) {
		r.out(at, values...)
	}
}

// check returns an error unless a program has just these records.
func check(p *program, items []item) error {
	a, err := p.call(request{Do: doDigest})
	if want := digestOf(items); err == nil && a.Digest != want {
		err = fmt.Errorf("the records are not the ones written: %+v instead of %+v", a.Digest, want)
	}
	return err
}

// supported turns the error for what a system cannot do into none.
func supported(err error) error {
	if errors.Is(err, errUnsupported) {
		return nil
	}
	return err
}

// p99 returns the value that one in a hundred samples exceeds.
func p99(samples []float64) float64 { return report.Quantile(samples, 0.99) }
