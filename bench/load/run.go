package load

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job    suite.Job
	state  string // of the rows
	plan   plan
	engine engine.Engine
	out    suite.Record

	store  engine.Store
	set    *entrySet
	script script
	loaded *writes       // of the load
	acked  atomic.Int64  // writes acknowledged since the database was created
	base   machine.Usage // just before the engine is opened
}

// all does the job of one value size. The database is closed between the parts, so that no part
// depends on whether another one is wanted.
func (r *run) all() error {
	if err := r.steps("load", r.prepare, r.open, r.load, r.weigh); err != nil {
		return err
	}
	if r.wantsMemory() || r.job.Wants("get_1", "get_128", "iterate", "iterate_keys") {
		if err := r.steps("read", r.open, r.readsLoaded, r.close, r.memory); err != nil {
			return err
		}
	}
	return r.churnAndRead()
}

// churnAndRead does the churn and the reads after it, in the rounds that have a churn.
func (r *run) churnAndRead() error {
	if r.job.Round > r.plan.churnRounds {
		return nil
	}
	again := r.job.Wants("churn_get", "churn_iterate")
	only := r.job.Wants("churn", "churn_settled", "churn_size", "churn_cpu", "churn_written")
	if !again && !only {
		return nil
	}
	if err := r.steps("churn", r.open, r.churn, r.weighChurned); err != nil || !again {
		return err
	}
	return r.steps("read after the churn", r.open, r.readsAgain, r.close)
}

func (r *run) wantsMemory() bool { return r.job.Wants("memory_peak", "memory_own") }

// steps runs the steps in order.
func (r *run) steps(part string, steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}

// prepare prepares the load and notes the resources used so far.
func (r *run) prepare() error {
	if err := r.checkDisk(); err != nil {
		return err
	}
	return r.prepareWrites(func() *writes { return r.newWrites("load", r.plan.entries, putsOnly) })
}

// prepareWrites prepares a load and notes the resources used so far.
func (r *run) prepareWrites(draw func() *writes) (err error) {
	if r.script, err = newScript(r.plan.room()); err != nil {
		return err
	}
	r.set, err = newEntrySet(r.plan.entries, r.plan.size, r.plan.random, r.job.Seed)
	if err != nil {
		return err
	}
	r.loaded = draw()
	debug.FreeOSMemory()
	r.base, err = machine.Now()
	return err
}

// checkDisk returns an error if the disk is too small for the large profile, before the engine
// fills it.
func (r *run) checkDisk() error {
	if r.job.Profile != suite.Large {
		return nil
	}
	const factor = 2 // times the data, while files are rewritten
	free := freeDisk(r.job.Dir)
	if need := factor * r.plan.presentBytes(); free > 0 && need > free {
		return fmt.Errorf("%d GB free on disk, but %d entries may take %d GB; give a smaller -n",
			free/1e9, r.plan.entries, need/1e9)
	}
	return nil
}

// open opens the database.
func (r *run) open() error {
	if err := os.MkdirAll(r.dir(), 0o700); err != nil {
		return err
	}
	return r.openWith(0)
}

// openWith opens the database with the given memory for the engine's caches.
func (r *run) openWith(cache int64) (err error) {
	o := engine.Options{
		Sync: r.job.Sync, Order: r.job.Order, Cache: cache, LittleMemory: cache > 0,
	}
	r.store, err = r.engine.Open(r.dir(), o)
	return err
}

func (r *run) close() error { return r.store.Close() }

func (r *run) dir() string { return filepath.Join(r.job.Dir, "main") }

// weigh measures the size on disk of the closed database after the load.
func (r *run) weigh() error {
	size, err := machine.SizeOf(r.dir())
	if err != nil {
		return err
	}
	entries := float64(r.set.present)
	r.record("size", float64(size.Apparent)/entries)
	r.record("size_allocated", float64(size.Allocated)/entries)
	if r.engine.ValueFiles == "" {
		return nil
	}
	values, err := sizeOfFiles(r.dir(), r.engine.ValueFiles)
	if err != nil {
		return err
	}
	r.record("size_values", float64(values)/entries)
	return nil
}

// weighChurned measures the size on disk after the churn.
func (r *run) weighChurned() error {
	size, err := machine.SizeOf(r.dir())
	if err != nil {
		return err
	}
	if live := r.set.bytes(); live > 0 {
		r.record("churn_size", float64(size.Apparent)/float64(live))
	}
	return nil
}

// memory records the peak of resident memory so far, if the system reports it.
func (r *run) memory() error {
	now, err := machine.Now()
	if err != nil {
		return err
	}
	if !tells(now) {
		return nil
	}
	r.record("memory_peak", float64(now.Peak))
	r.record("memory_own", float64(now.Peak-r.base.Anon-r.base.File))
	return nil
}

// tells reports whether the system reports a process's usage: this process has used the processor.
func tells(u machine.Usage) bool { return u.CPU > 0 }

// resources records what was used since then, without what preparing the writes used.
func (r *run) resources(cpu, written string, then machine.Usage, own time.Duration) error {
	now, err := machine.Now()
	if err != nil {
		return err
	}
	r.used(cpu, written, then, now, own)
	return nil
}

// used records the difference between then and now, as far as the system reports it.
func (r *run) used(cpu, written string, then, now machine.Usage, own time.Duration) {
	if tells(now) {
		r.record(cpu, float64(max(0, now.CPU-then.CPU-own)))
	}
	if now.WrittenKnown {
		r.record(written, float64(now.Written-then.Written))
	}
}

// record passes on the samples of a row if they are wanted.
func (r *run) record(row string, values ...float64) { r.recordAt(row, 0, values...) }

// recordAt passes on the samples of a row at a position on its axis.
func (r *run) recordAt(row string, x float64, values ...float64) {
	if r.job.Wants(row) && len(values) > 0 {
		r.out(suite.At{Row: row, State: r.state, X: x}, values...)
	}
}

// random returns the source of the choices for a purpose. It is the same for all engines and for
// all tasks whose rows have the same state.
func (r *run) random(purpose string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", purpose, r.state)
	return rand.New(rand.NewPCG(r.job.Seed, h.Sum64()))
}

// since returns the nanoseconds since start.
func since(start time.Time) float64 { return float64(time.Since(start)) }
