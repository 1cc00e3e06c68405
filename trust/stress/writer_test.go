package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

// writer is a process that writes the database in a store, and a crowd that uses it.
type writer struct {
	*Crowd
	world   *world
	db      *remote.DB
	store   objstore.Store
	tuning  engine.Tuning
	closing atomic.Bool // it is being closed
	fenced  atomic.Bool // another one may have taken over
	stop    context.CancelFunc
	ended   chan error // of the crowd
}

// expected reports whether an error comes of the writer's end.
func (p *writer) expected(err error) bool {
	switch {
	case errors.Is(err, stoat.ErrCorrupt), errors.Is(err, ErrDifferent):
		return false
	case p.fenced.Load() && (errors.Is(err, remote.ErrFenced) || errors.Is(err, remote.ErrApart)):
		return true
	case !p.closing.Load():
		return false
	}
	return errors.Is(err, stoat.ErrClosed) || errors.Is(err, remote.ErrUnknown) ||
		errors.Is(err, remote.ErrUnshipped) || p.world.isFault(err) // requests are not made again
}

// actions returns what the crowd does.
func (p *writer) actions() []Action {
	return append(p.Actions(), []Action{
		{"ship", 4, p.ship},
		{"status", 3, p.status},
		{"collect", 2, p.collect},
		{"confirm", 1, p.confirm},
		{"verify", 2, p.verify},
		{"remember", 3, p.remember},
		{"restore", 3, p.restore},
		{"restore a position", 2, p.restoreAt},
		{"pin", 1, p.pin},
		{"read", 4, p.read},
		{"clone", 2, p.clone},
	}...)
}

// end closes the database, whatever the crowd does, and reports whether all was shipped.
func (p *writer) end() (shipped bool) {
	p.closing.Store(true)
	closed := p.db.Close()
	p.stop()
	err := <-p.ended
	if closed != nil && !p.expected(closed) {
		err = errors.Join(err, fmt.Errorf("close: %w", closed))
	}
	if err != nil {
		p.world.t.Error(err)
	}
	return closed == nil
}

func (p *writer) ship(ctx context.Context, _ *rand.Rand) error {
	m := p.Acked()
	err := p.db.Ship(ctx)
	if err == nil {
		p.world.know(m)
	}
	return err
}

// remember notes which state has which position.
func (p *writer) remember(context.Context, *rand.Rand) error {
	return p.db.View(func(tx *stoat.Tx) error {
		at := tx.Position()
		m, err := p.Chain.Check(tx)
		if err != nil {
			return err
		}
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		if was, there := p.world.positions[at]; there && was != m {
			return fmt.Errorf("position %d is of %+v and of %+v: %w", at, was, m, ErrDifferent)
		}
		p.world.positions[at] = m
		return nil
	})
}

// status wants no errors but those of faults and of the end.
func (p *writer) status(context.Context, *rand.Rand) error {
	s := p.db.Status()
	if s.Shipped > s.Commit {
		return fmt.Errorf("%d of %d are shipped: %w", s.Shipped, s.Commit, ErrDifferent)
	}
	for _, err := range []error{s.Unevicted, s.Uncollected, s.Unfilled, s.Failed, s.Ended} {
		ends := (p.fenced.Load() || p.closing.Load()) && !errors.Is(err, stoat.ErrCorrupt)
		if err != nil && !ends && !p.world.isFault(err) {
			return err
		}
	}
	return nil
}

func (p *writer) collect(ctx context.Context, _ *rand.Rand) error {
	_, err := p.db.Collect(ctx)
	return p.world.tolerate(err)
}

func (p *writer) confirm(ctx context.Context, _ *rand.Rand) error { return p.db.Confirm(ctx) }

// verify looks at the store.
func (p *writer) verify(ctx context.Context, rng *rand.Rand) (err error) {
	if rng.IntN(2) == 0 {
		_, err = remote.Inspect(ctx, p.store)
	} else {
		_, err = remote.Verify(ctx, p.store)
	}
	return p.world.tolerate(err)
}
