package ssb

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// runTurns is the task "turns": it loads all engines in this process and measures the read rows,
// engine after engine for each sample. What one engine reads pushes what the others have read out
// of the processor's cache, so a sample begins as in a program that does something else between two
// reads. Each sample has the same keys for all engines.
func runTurns(job suite.Job, record func(engine string) suite.Record) error {
	g, err := newGenerator(cmp.Or(job.Data, dataMessages), job.Seed)
	if err != nil {
		return err
	}
	return takeTurns(job, newPlan(job.Settings), g, record)
}

func takeTurns(
	job suite.Job, p plan, g *generator, record func(engine string) suite.Record,
) error {
	data, err := newMessages(p.messages, g.longest())
	if err != nil {
		return err
	}
	data.fill(g)
	var all turns
	for _, name := range job.Engines {
		e, err := engine.Find(name)
		if err != nil {
			return err
		}
		own := job
		own.Dir = filepath.Join(job.Dir, name)
		r := &run{job: own, plan: p, engine: e, out: record(name), generator: g, data: data}
		r.prepareReads()
		all = append(all, r)
	}
	debug.FreeOSMemory()
	if err := all.each((*run).loadForTurns); err != nil {
		return err
	}
	if _, _, err := p.settler.Wait(); err != nil {
		return err
	}
	if err := all.reads(settledTurns, nil); err != nil {
		return err
	}
	if err := all.reads(reopenedTurns, (*run).reopen); err != nil {
		return err
	}
	return all.each(func(r *run) error { return r.store.Close() })
}

// loadForTurns appends all messages to a new database and leaves it open.
func (r *run) loadForTurns() error {
	if err := r.open("main"); err != nil {
		return err
	}
	_, err := r.fill(func() error { return nil })
	return err
}

// turns are the runs of all engines in one process.
type turns []*run

// each does something with every engine.
func (t turns) each(do func(r *run) error) error {
	for _, r := range t {
		if err := do(r); err != nil {
			return fmt.Errorf("engine %s: %w", r.engine.Name, err)
		}
	}
	return nil
}

// reads measures the wanted read rows in one state. It calls before, if there is one, for every
// engine before each row.
func (t turns) reads(state string, before func(r *run) error) error {
	for _, row := range readRows() {
		if !t[0].job.Wants(row.name) {
			continue
		}
		if before != nil {
			if err := t.each(before); err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
		}
		if err := t.sample(row, state); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return nil
}

// sample measures a row. All engines get the same number of samples.
func (t turns) sample(row readRow, state string) error {
	randoms := make(map[*run]*rand.Rand)
	samples := make(map[*run][]float64)
	for _, r := range t {
		randoms[r] = r.random(row.name, state)
	}
	p := t[0].plan
	begun := time.Now()
	for i := range p.reads {
		if i >= leastReads && time.Since(begun) > p.readTime*time.Duration(len(t)) {
			break
		}
		err := t.each(func(r *run) error {
			operation := row.choose(r, randoms[r])
			start := time.Now()
			if err := operation(); err != nil {
				return err
			}
			samples[r] = append(samples[r], since(start))
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, r := range t {
		r.record(row.name, state, samples[r]...)
	}
	return nil
}
