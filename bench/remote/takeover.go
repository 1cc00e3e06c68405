package remote

import (
	"errors"

	"github.com/stoatdb/stoat/bench/suite"
)

// takeover is a way for a process to become the writer of a database that another one has open.
type takeover struct {
	row, turns string
	// prepare starts the process, and returns the request by which it becomes the writer.
	prepare func(r *run, before program, p *proxy, n uint64) (next program, q request, err error)
}

func takeovers() []takeover {
	return []takeover{
		{rowTakeover, rowTakeTurns, (*run).newcomer},
		{rowStandby, rowStandTurns, (*run).standby},
	}
}

// takeOver measures a takeover with each delay, up to the first commit.
func (r *run) takeOver(t takeover) error {
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
		next, q, err := t.prepare(r, before, p, n)
		if err != nil {
			return err
		}
		if err := r.takenOver(t, next, q, suite.At{State: d.name}, p, n); err != nil {
			return err
		}
		before.Kill()
	}
	return nil
}

// takenOver measures one takeover, and gets some of the n records from the new writer.
func (r *run) takenOver(
	t takeover, next program, q request, at suite.At, p *proxy, n uint64,
) error {
	p.take()
	a, err := next.call(q)
	if err != nil {
		return err
	}
	one, err := next.call(request{Do: doCommit, Writers: 1, Milliseconds: 1, From: 2 * n})
	if err != nil {
		return err
	}
	seen := p.take()
	if len(one.Samples) == 0 {
		return errors.New("nothing was committed")
	}
	at.Row = t.row
	r.record(at, a.Nanoseconds+one.Samples[0])
	at.Row = t.turns
	r.record(at, float64(seen.turns()))
	if _, err := next.call(request{Do: doGet, IDs: r.ids(r.random(), 20, n)}); err != nil {
		return err
	}
	_, err = r.close(next)
	return err
}

// newcomer prepares a takeover by a process that has nothing of the database, while the writer
// before stores files.
func (r *run) newcomer(_ program, p *proxy, _ uint64) (next program, q request, err error) {
	next, err = r.start()
	return next, r.request(doOpen, modeWait, r.folder(), p), err
}

// standby prepares a takeover by a reader that has followed the writer before for a while.
func (r *run) standby(before program, p *proxy, n uint64) (next program, q request, err error) {
	next, _, err = r.opened(modeRead, r.folder(), p)
	if err == nil {
		_, err = before.call(request{
			Do: doCommit, Writers: 8, Milliseconds: r.plan.milliseconds / 2, From: n,
		})
	}
	return next, request{Do: doTakeOver, Dir: r.folder()}, err
}
