package remote

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// restores is the task "restore".
func (r *run) restores() error {
	if r.job.Wants(rowRestore, rowMemory) {
		if err := supported(r.copies()); err != nil {
			return err
		}
	}
	if r.job.Wants(rowTakeover, rowTakeTurns) {
		return supported(r.takeovers())
	}
	return nil
}

// copies measures restoring the database over a link, and compares some of what is there then.
func (r *run) copies() error {
	p, err := r.serve()
	if err != nil {
		return err
	}
	if r.system.client == nil {
		return nil // it has no copy outside the store
	}
	if err := r.load(p, r.plan.records); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	p.link.set(r.plan.link)
	least := float64(r.plan.records*sizeOfRecord) / r.plan.link * 1e9
	for _, d := range r.plan.delays {
		p.clock.set(d)
		restoring, err := r.start()
		if err != nil {
			return err
		}
		dir := r.folder()
		a, err := restoring.call(r.request(doRestore, "", dir, p))
		if err != nil {
			return err
		}
		r.record(suite.At{Row: rowRestore, State: d.name}, a.Nanoseconds/least)
		if a.Peak > 0 {
			r.record(suite.At{Row: rowMemory}, a.Peak)
		}
		if err := r.look(dir); err != nil {
			return err
		}
	}
	return nil
}

// look compares records of a database in a folder with what was written.
func (r *run) look(dir string) error {
	db, _, err := r.opened(modeLocal, dir, nil)
	if err == nil {
		_, err = db.call(request{Do: doGet, IDs: r.ids(r.random(), 20, r.plan.records)})
	}
	if err == nil {
		_, err = r.close(db)
	}
	return err
}

// takeovers measures that another process becomes the writer while the one before still runs.
func (r *run) takeovers() error {
	n := max(1, r.plan.records/10)
	for _, d := range r.plan.delays {
		p, err := r.serve()
		if err != nil {
			return err
		}
		before, _, err := r.opened(modeWait, r.folder(), p)
		if err != nil {
			return err
		}
		if err := before.calls(request{Do: doLoad, To: n}, request{Do: doShip}); err != nil {
			return err
		}
		p.clock.set(d)
		if err := r.takeover(p, d, n); err != nil {
			return err
		}
		before.Kill()
	}
	return nil
}

// takeover measures that a process becomes the writer of a database of n records, and commits one.
func (r *run) takeover(p *proxy, d delay, n uint64) error {
	next, err := r.start()
	if err != nil {
		return err
	}
	p.take()
	a, err := next.call(r.request(doOpen, modeWait, r.folder(), p))
	if err != nil {
		return err
	}
	one, err := next.call(request{Do: doCommit, Writers: 1, Milliseconds: 1, From: n})
	if err != nil {
		return err
	}
	seen := p.take()
	if len(one.Samples) == 0 {
		return errors.New("nothing was committed")
	}
	r.record(suite.At{Row: rowTakeover, State: d.name}, a.Nanoseconds+one.Samples[0])
	r.record(suite.At{Row: rowTakeTurns, State: d.name}, float64(seen.turns()))
	if _, err := next.call(request{Do: doGet, IDs: r.ids(r.random(), 20, n)}); err != nil {
		return err
	}
	_, err = r.close(next)
	return err
}
