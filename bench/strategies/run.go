package strategies

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job    suite.Job
	plan   plan
	data   *Data
	layout layout
	open   func(dir string) (DB, error)
	out    func(row string, values ...float64)
	ahead  int // bytes of records to make ahead of write_bulk

	block *block
	cycle int
	dir   string  // of the database
	db    DB      // nil while closed
	count int     // records in the database
	sum   float64 // of the field to add up, of these records
}

// Measure measures a strategy with n records, with the job's engine and settings.
func Measure(job suite.Job, data *Data, strategy string, n int, record suite.Record) error {
	s, err := findStrategy(strategy)
	if err != nil {
		return err
	}
	r := newRun(job, newPlan(job.Settings, n), data, s)
	r.open = opener(job)
	r.out = func(row string, values ...float64) {
		record(suite.At{Row: row, State: strategy, X: float64(n)}, values...)
	}
	return r.all()
}

// newRun returns a run without its functions open and out.
func newRun(job suite.Job, p plan, data *Data, s Strategy) *run {
	return &run{
		job:    job,
		plan:   p,
		data:   data,
		layout: s.make(data.schema),
		block:  newBlock(data, blockRecords),
		ahead:  aheadBytes,
	}
}

// opener returns the function that opens the job's engine.
func opener(job suite.Job) func(dir string) (DB, error) {
	return func(dir string) (DB, error) { return open(job.Engine, dir, job.Sync) }
}

// all does all cycles.
func (r *run) all() error {
	for r.cycle = 1; r.cycle <= r.plan.cycles; r.cycle++ {
		if r.job.Wants(rowSingle) && !r.plan.onTop {
			if err := r.fresh(r.single); err != nil {
				return err
			}
		}
		loaded := []string{
			rowBulk, rowClose, rowRead, rowReadMany, rowSum, rowUpdate, rowStorage, rowAllocated,
			firstOf(rowRead), firstOf(rowReadMany), firstOf(rowSum),
		}
		if r.plan.onTop {
			loaded = append(loaded, rowSingle)
		}
		if r.job.Wants(loaded...) {
			if err := r.fresh(r.bulkAndRest); err != nil {
				return err
			}
		}
	}
	return nil
}

// bulkAndRest measures all rows that need a loaded database.
func (r *run) bulkAndRest() error {
	steps := []struct {
		row string
		do  func() error
	}{
		{rowBulk, r.bulk},
		{rowClose, r.closeNow},
		{rowStorage, r.settleAndWeigh},
		{"open", r.reopen},
		{rowRead, r.read},
		{rowReadMany, r.readMany},
		{rowSum, r.fieldSum},
		{rowUpdate, r.update},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.row, err)
		}
	}
	if r.plan.onTop && r.job.Wants(rowSingle) {
		return r.single()
	}
	return nil
}

// fresh runs fn with an empty database, which it removes afterwards.
func (r *run) fresh(fn func() error) (err error) {
	r.dir = filepath.Join(r.job.Dir, "db")
	r.count, r.sum = 0, 0
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close(), os.RemoveAll(r.dir)) }()
	if err := r.reopen(); err != nil {
		return err
	}
	return fn()
}

// reopen opens the closed database and prepares it for the layout.
func (r *run) reopen() error {
	db, err := r.open(r.dir)
	if err != nil {
		return err
	}
	r.db = db
	if p, ok := r.layout.(preparer); ok {
		return p.prepare(db)
	}
	return nil
}

// close closes the database if it is open.
func (r *run) close() error {
	if r.db == nil {
		return nil
	}
	err := r.db.Close()
	r.db = nil
	return err
}

// closeNow measures closing, right after the records were written.
func (r *run) closeNow() error {
	var w stopwatch
	w.start()
	err := r.close()
	w.stop()
	if err != nil {
		return err
	}
	r.record(rowClose, w.each(r.count))
	return nil
}

// settleAndWeigh lets the engine finish in another session what Close has left, and measures the
// size on disk after that.
func (r *run) settleAndWeigh() error {
	if err := r.reopen(); err != nil {
		return err
	}
	if _, _, err := settlerFor(r.job.Settings, r.plan.n).Wait(); err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	size, err := machine.SizeOf(r.dir)
	if err != nil {
		return err
	}
	r.record(rowStorage, float64(size.Apparent)/float64(r.count))
	r.record(rowAllocated, float64(size.Allocated)/float64(r.count))
	return nil
}

// record passes on samples of a row if they are wanted.
func (r *run) record(row string, values ...float64) {
	if r.job.Wants(row) {
		r.out(row, values...)
	}
}

// random returns the source of a row's choices, which is the same for all engines and strategies.
func (r *run) random(row string, sample int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d %d %d", row, r.plan.n, r.job.Round, r.cycle, sample)
	return rand.New(rand.NewPCG(r.job.Seed, h.Sum64()))
}
