package remote

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// reads is the task "read".
func (r *run) reads() error {
	p, err := r.serve()
	if err != nil {
		return err
	}
	if !r.system.reads {
		return nil // nothing reads its store but a restore
	}
	if err := r.load(p, r.plan.records); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	for _, d := range r.plan.delays {
		err := r.gets(p, d)
		if err == nil && r.job.Wants(rowScan, rowScanAsks) {
			err = r.scan(p, d)
		}
		if errors.Is(err, errUnsupported) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// gets measures opening the database, and gets with a cold cache.
func (r *run) gets(p *proxy, d delay) error {
	p.clock.set(d)
	p.take()
	at := func(row string) suite.At { return suite.At{Row: row, State: d.name} }
	db, a, err := r.opened(modeRead, r.folder(), p)
	if err != nil {
		return err
	}
	seen := p.take()
	r.record(at(rowOpen), a.Nanoseconds)
	r.record(at(rowOpenTurns), float64(seen.turns()))
	r.record(at(rowOpenAsks), float64(len(seen)))
	r.record(at(rowOpenBytes), float64(seen.received()))
	if !r.job.Wants(rowFirst, rowFirstAsks, rowGet, rowGet99, rowGetAsks) {
		_, err := r.close(db)
		return err
	}
	random := r.random()
	get := func(n int) (answer, traffic, error) {
		a, err := db.call(request{Do: doGet, IDs: r.ids(random, n, r.plan.records)})
		return a, p.take(), err
	}
	if a, seen, err = get(1); err != nil {
		return err
	}
	r.record(at(rowFirst), a.Samples...)
	r.record(at(rowFirstAsks), float64(seen.turns()))
	if _, _, err = get(2 * r.plan.gets); err != nil { // reads the indexes of many tables
		return err
	}
	if a, seen, err = get(r.plan.gets); err != nil {
		return err
	}
	r.record(at(rowGet), a.Samples...)
	r.record(at(rowGet99), p99(a.Samples))
	r.record(at(rowGetAsks), float64(len(seen))/float64(len(a.Samples)))
	_, err = r.close(db)
	return err
}

// scan measures reading everything with a cold cache.
func (r *run) scan(p *proxy, d delay) error {
	db, _, err := r.opened(modeRead, r.folder(), p)
	if err != nil {
		return err
	}
	p.take()
	a, err := db.call(request{Do: doScan})
	if err != nil {
		return err
	}
	seen := p.take()
	if a.Records != r.plan.records {
		return fmt.Errorf("%d records instead of %d", a.Records, r.plan.records)
	}
	mebibytes := a.Bytes / (1 << 20)
	r.record(suite.At{Row: rowScan, State: d.name}, a.Nanoseconds/mebibytes)
	r.record(suite.At{Row: rowScanAsks, State: d.name}, float64(len(seen))/mebibytes)
	_, err = r.close(db)
	return err
}
