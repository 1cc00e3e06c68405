package items

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job  suite.Job
	plan plan
	open func(dir string, sync bool) (store, error)
	out  suite.Record

	store    store                 // of the task; nil if closed
	contents map[string][]item     // the expected contents of its repositories, by path
	opened   map[string]repository // the store's open repositories, by path
}

// Paths of the repositories.
const (
	pathGrowing = "/bench/growing" // items are created in it one by one
	pathBulk    = "/bench/bulk"    // items are created in it many at once
	pathUpdated = "/bench/updated"
	pathFew     = "/bench/few"
	pathSome    = "/bench/some"
	pathLarge   = "/bench/large"
)

// operation is what to time, and what to do afterwards.
type operation struct {
	do    func() error
	check func() error // checks the answer; may be nil
}

// sample does operations, each of which makes the given number of calls, and records the time of
// one call. The first is not recorded: it prepares statements and fills caches. choose gets the
// numbers in [0, n], and its time does not count.
func (r *run) sample(at suite.At, n, calls int, choose func(i int) operation) error {
	if !r.job.Wants(at.Row) {
		return nil
	}
	runtime.GC() // the garbage of earlier rows must not cost this one anything
	samples := make([]float64, 0, n)
	for i := range n + 1 {
		o := choose(i)
		start := time.Now()
		err := o.do()
		elapsed := since(start)
		if err == nil && o.check != nil {
			err = o.check()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at.Row, err)
		}
		if i > 0 {
			samples = append(samples, elapsed/float64(calls))
		}
	}
	r.out(at, samples...)
	return nil
}

// folder creates an empty folder.
func (r *run) folder(name string) (dir string, err error) {
	dir = filepath.Join(r.job.Dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// start opens the store in the folder name, and the repositories with those contents.
func (r *run) start(name string) error {
	dir, err := r.folder(name)
	if err != nil {
		return err
	}
	if r.store, err = r.open(dir, r.job.Sync); err != nil {
		return err
	}
	r.opened = make(map[string]repository)
	for path := range r.contents {
		if r.opened[path], err = r.store.repository(path); err != nil {
			return fmt.Errorf("open repository %s: %w", path, err)
		}
	}
	return nil
}

// load stores the contents of a repository.
func (r *run) load(path string) error {
	all := r.contents[path]
	for i := 0; i < len(all); i += r.plan.batch {
		batch := all[i:min(i+r.plan.batch, len(all))]
		if err := r.opened[path].create(batch...); err != nil {
			return fmt.Errorf("load %s after %d items: %w", path, i, err)
		}
	}
	return nil
}

// verify reopens the store and compares everything with what was written.
func (r *run) verify(name string) error {
	if err := r.store.close(); err != nil {
		return err
	}
	if err := r.start(name); err != nil {
		return err
	}
	for path, want := range r.contents {
		got, err := r.opened[path].readAll()
		if err := compareItems(got, want, anyOrder, err); err != nil {
			return fmt.Errorf("%s after reopening: %w", path, err)
		}
	}
	return r.store.close()
}

// large is the task "large".
func (r *run) large() error {
	r.contents = map[string][]item{pathLarge: newItems(r.data("large"), r.plan.large)}
	steps := []struct {
		name string
		do   func() error
	}{
		{"open", func() error { return r.start("large") }},
		{"load", func() error { return r.load(pathLarge) }},
		{"settle", r.settle},
		{"close", func() error { return r.store.close() }},
		{"weigh", r.weigh},
		{"open again and again", r.openings},
		{"open for reading", func() error { return r.start("large") }},
		{"read", r.readAlls},
		{"verify", func() error { return r.verify("large") }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// settle lets the engine finish deferred work.
func (r *run) settle() error {
	_, _, err := r.plan.settler.Wait()
	return err
}

// weigh measures the size on disk of the closed large repository.
func (r *run) weigh() error {
	if !r.job.Wants("size") {
		return nil
	}
	size, err := machine.SizeOf(filepath.Join(r.job.Dir, "large"))
	if err != nil {
		return err
	}
	apparent, allocated := r.atLarge("size"), r.atLarge("size")
	apparent.State, allocated.State = "apparent", "allocated"
	r.out(apparent, float64(size.Apparent)/float64(r.plan.large))
	r.out(allocated, float64(size.Allocated)/float64(r.plan.large))
	return nil
}

// openings measures opening the large repository.
func (r *run) openings() error {
	random := r.choices("open_loaded")
	dir := filepath.Join(r.job.Dir, "large")
	all := r.contents[pathLarge]
	return r.sample(r.atLarge("open_loaded"), r.plan.opens, 1, func(int) operation {
		want := all[random.IntN(len(all))]
		path := join(pathLarge, want.ID)
		var s store
		var got item
		return operation{
			do: func() (err error) {
				if s, err = r.open(dir, r.job.Sync); err != nil {
					return err
				}
				if _, err = s.repository(pathLarge); err != nil {
					return err
				}
				got, err = s.read(path)
				return err
			},
			check: func() error {
				return compareItems([]item{got}, []item{want}, inOrder, s.close())
			},
		}
	})
}

// readAlls measures reading the large repository.
func (r *run) readAlls() error {
	return r.sample(r.atLarge("read_all"), r.plan.readAlls, 1, func(int) operation {
		var got []item
		return operation{
			do: func() (err error) {
				got, err = r.opened[pathLarge].readAll()
				return err
			},
			check: func() error {
				return compareItems(got, r.contents[pathLarge], anyOrder, nil)
			},
		}
	})
}

// atLarge returns the place of a row of the large repository.
func (r *run) atLarge(row string) suite.At {
	return suite.At{Row: row, X: float64(r.plan.large)}
}

// since returns the nanoseconds since start.
func since(start time.Time) float64 { return float64(time.Since(start)) }
