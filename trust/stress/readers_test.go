package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
)

// read opens a reader and uses it for a while.
func (p *writer) read(ctx context.Context, rng *rand.Rand) error {
	least := p.world.known()
	r, err := p.world.openReader(ctx, rng, p.store, memfs.New(), p.tuning)
	if err != nil {
		return err
	}
	for range 1 + rng.IntN(10) {
		if err = p.useReader(ctx, rng, r, &least); err == nil {
			if err = p.world.tolerate(r.Status().Failed); err != nil {
				err = fmt.Errorf("status: %w", err)
			}
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, r.Close())
}

// useReader uses a reader in some way. It must not show a state before least, which it sets to the
// one that it has shown.
func (p *writer) useReader(
	ctx context.Context, rng *rand.Rand, r *remote.Reader, least *Mark,
) error {
	switch rng.IntN(6) {
	case 0:
		return p.follow(ctx, r)
	case 1:
		return Hold(ctx, rng, p.Chain, r.DB)
	case 2:
		following, end := context.WithTimeout(ctx, time.Duration(rng.IntN(50))*time.Millisecond)
		defer end()
		commits := 0
		err := p.Chain.Follow(following, r.DB, &commits)
		if p.fenced.Load() || following.Err() != nil && errors.Is(err, following.Err()) {
			return nil // the branch may be another one
		}
		return err
	case 3:
		return r.Check(ctx)
	default:
		m, err := p.Chain.CheckDB(r.DB)
		if err == nil {
			err = p.after("a reader", m, *least)
		}
		*least = m
		return err
	}
}

// follow waits until a reader shows what was acknowledged.
func (p *writer) follow(ctx context.Context, r *remote.Reader) error {
	m, position := p.Acked(), p.db.Position()
	ctx, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	err := r.WaitFor(ctx, position)
	if p.fenced.Load() || p.closing.Load() {
		return nil // it may have been lost
	}
	if err != nil {
		return err
	}
	now, err := p.Chain.CheckDB(r.DB)
	if err == nil {
		err = p.after("a reader that has waited", now, m)
	}
	return err
}
