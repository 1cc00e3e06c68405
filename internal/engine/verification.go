package engine

import (
	"context"
	"sync"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/tools/check"
)

// verification is a deep check of a folder while it is filled. It ends at the first table that is
// damaged.
type verification struct {
	engine *Engine
	check  *check.Check
	found  check.Findings
	tables map[uint64]bool // by number, those that were verified
}

// receive fetches the files of the engine's version into its folder, and verifies each table while
// others are on their way. Unless it fails, what it returns is to be finished and closed.
func (e *Engine) receive(
	ctx context.Context, to *backup.Folder, fetch backup.Fetch,
) (*verification, error) {
	v := &verification{engine: e, tables: make(map[uint64]bool)}
	receiving, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	v.check = check.Begin(receiving, e.checkConfig(e.state.Load(), 0), &v.found)
	all := newArrivals(v.check.Snapshot.Levels.Version)
	var verifying sync.WaitGroup
	verifying.Go(func() {
		if err := v.follow(receiving, all); err != nil {
			fail(err)
		}
	})
	if err := to.Assemble(receiving, fetch, all.add); err != nil {
		fail(err)
	}
	verifying.Wait()
	if err := context.Cause(receiving); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// follow verifies all tables, each once it is there.
func (v *verification) follow(ctx context.Context, all arrivals) error {
	for h, isBottom := range v.check.Tables() {
		err := all.await(ctx, v.check.Snapshot.Levels.Version, h.Meta)
		if err == nil {
			err = v.verify(h, isBottom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) verify(h superversion.Handle, isBottom bool) error {
	v.tables[h.Meta.Number] = true
	if err := v.check.Verify(h, isBottom); err != nil {
		return err
	}
	return unverified(v.found.Err())
}

// finish verifies the tables that were added since, and what is left.
func (v *verification) finish(ctx context.Context) error {
	p, err := v.engine.inspect(&v.found)
	if err != nil {
		return err
	}
	p.close()
	v.check.Advance(ctx, p.snapshot)
	for h, isBottom := range v.check.Tables() {
		if v.tables[h.Meta.Number] {
			continue
		}
		if err := v.verify(h, isBottom); err != nil {
			return err
		}
	}
	if err := v.check.Finish(); err != nil {
		return err
	}
	return unverified(v.found.Err())
}

func (v *verification) close() { v.check.Close() }
