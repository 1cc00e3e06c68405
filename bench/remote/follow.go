package remote

import (
	"errors"
	"time"

	"github.com/stoatdb/stoat/bench/suite"
)

// follow is the task "follow".
func (r *run) follow() error {
	if r.job.Wants(rowAsync, rowAsyncCPU) {
		if err := supported(r.asyncs()); err != nil {
			return err
		}
	}
	if !r.job.Wants(rowLag, rowLag99, rowIdle) {
		return nil
	}
	for i, d := range r.plan.delays {
		if err := r.lag(d, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// asyncs measures commits that are shipped in the background against commits that are not. Each of
// them comes first in turn: the disk of a shared machine changes its speed.
func (r *run) asyncs() error {
	for i := range r.plan.pairs {
		var ns, cpu [2]float64
		for j := range 2 {
			isShipped := (i + j) % 2
			var err error
			if ns[isShipped], cpu[isShipped], err = r.cost(isShipped == 1); err != nil {
				return err
			}
		}
		r.record(suite.At{Row: rowAsync}, ns[1]/ns[0])
		if cpu[0] > 0 {
			r.record(suite.At{Row: rowAsyncCPU}, cpu[1]/cpu[0])
		}
	}
	return nil
}

// cost returns what a commit of eight writers costs, in nanoseconds and in nanoseconds of processor
// time, which includes closing. A database that is shipped has a store of its own.
func (r *run) cost(isShipped bool) (ns, cpu float64, err error) {
	mode, p := modeLocal, (*proxy)(nil)
	if isShipped {
		if p, err = r.serve(); err != nil {
			return 0, 0, err
		}
		p.clock.set(r.plan.delays[0])
		mode = modeAsync
	}
	db, _, err := r.opened(mode, r.folder(), p)
	if err != nil {
		return 0, 0, err
	}
	a, err := db.call(request{Do: doCommit, Writers: 8, Milliseconds: r.plan.milliseconds})
	if err != nil {
		return 0, 0, err
	}
	closed, err := r.close(db)
	n := float64(len(a.Samples))
	return a.Nanoseconds / n, closed.CPU / n, err
}

// lag measures how far the store is behind and, if so wanted, the requests when nothing happens.
func (r *run) lag(d delay, idle bool) error {
	p, err := r.serve()
	if err != nil {
		return err
	}
	p.clock.set(d)
	db, _, err := r.opened(modeAsync, r.folder(), p)
	if err != nil {
		return err
	}
	const pause = 10_000 // microseconds
	a, err := db.call(request{Do: doCommit, Writers: 1, Milliseconds: r.plan.lags,
		Microseconds: pause})
	if err == nil {
		_, err = db.call(request{Do: doShip})
	}
	if err != nil {
		return err
	}
	lags := p.take().groups(r.system.log).lags(a.At)
	if len(lags) == 0 {
		return errors.New("no object of the log was stored")
	}
	r.record(suite.At{Row: rowLag, State: d.name}, lags...)
	r.record(suite.At{Row: rowLag99, State: d.name}, p99(lags))
	if idle && r.job.Wants(rowIdle) {
		length := time.Duration(r.plan.idle) * time.Millisecond
		time.Sleep(time.Second) // what commits left behind
		p.take()
		time.Sleep(length)
		r.record(suite.At{Row: rowIdle}, float64(len(p.take()))*float64(time.Minute/length))
	}
	_, err = r.close(db)
	return err
}
