package remote

import (
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
	for _, t := range takeovers() {
		if r.job.Wants(t.row, t.turns) {
			if err := supported(r.takeOver(t)); err != nil {
				return err
			}
		}
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
