package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/tools/check"
)

// damagedMost is in how many files a verification finds damage before it ends. Until then it goes
// on, so that whoever has to repair them knows all.
const damagedMost = 20

// errDamaged ends a verification that has found enough.
var errDamaged = errors.New("too much is damaged")

// verification is a deep check of a folder while it is filled.
type verification struct {
	engine *Engine
	check  *check.Check
	found  check.Findings  // the first one of each file
	tables map[uint64]bool // by number, those that were verified
	losses losses
}

// receive fetches the files of the engine's version into its folder, and verifies each table while
// others are on their way. Unless it fails, what it returns is to be finished and closed. The error
// names all files in which it has found damage.
func (e *Engine) receive(
	ctx context.Context, to *backup.Folder, fetch backup.Fetch,
) (*verification, error) {
	v := &verification{engine: e, tables: make(map[uint64]bool)}
	v.found.OneEach = true
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
	if err := to.Assemble(receiving, v.losses.over(fetch), all.add); err != nil {
		fail(err)
	}
	verifying.Wait()
	v.losses.addTo(&v.found, e.dir)
	err := context.Cause(receiving)
	if errors.Is(err, errDamaged) {
		err = nil
	}
	if err = errors.Join(err, unverified(v.found.Err())); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// follow verifies all tables, each once it is there.
func (v *verification) follow(ctx context.Context, all arrivals) error {
	version := v.check.Snapshot.Levels.Version
	for h, isBottom := range v.check.Tables() {
		if err := all.await(ctx, version, h.Meta); err != nil {
			return err
		}
		if err := v.verifyArrived(version, h, isBottom); err != nil {
			return err
		}
		if v.found.Len() >= damagedMost {
			return errDamaged
		}
	}
	return nil
}

// verifyArrived verifies a table that is there, unless it came damaged.
func (v *verification) verifyArrived(
	version *manifest.Version, h superversion.Handle, isBottom bool,
) error {
	v.losses.addTo(&v.found, v.engine.dir, needed(version, h.Meta)...)
	if v.losses.of(arrivalOf(h.Meta)) != nil {
		return nil
	}
	return v.verify(h, isBottom)
}

func (v *verification) verify(h superversion.Handle, isBottom bool) error {
	v.tables[h.Meta.Number] = true
	return v.check.Verify(h, isBottom)
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
