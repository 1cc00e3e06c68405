package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// restored returns the state of a copy of what is in a store.
func (w *world) restored(
	ctx context.Context, store objstore.Store, o remote.RestoreOptions,
) (m Mark, err error) {
	disk := memfs.New()
	o.Key = w.key
	ctx = hook.With(ctx, hook.Settings{FS: disk})
	if err := remote.Restore(ctx, store, "db", &o); err != nil {
		return m, err
	}
	db, err := tuned.Open(disk, "db", &stoat.Options{Key: w.key}, engine.Tuning{})
	if err != nil {
		return m, err
	}
	if m, err = w.chain.CheckDB(db); err == nil {
		err = db.Check(ctx)
	}
	return m, errors.Join(err, db.Close())
}

// restore restores the newest commit.
func (p *writer) restore(ctx context.Context, _ *rand.Rand) error {
	least := p.world.known()
	m, err := p.world.restored(ctx, p.store, remote.RestoreOptions{})
	if err != nil {
		return p.world.tolerate(err)
	}
	return p.after("a copy", m, least)
}

// after returns an error if a state is not least or one made of it, unless another writer may have
// gone on without it.
func (p *writer) after(what string, m, least Mark) error {
	if p.fenced.Load() || p.Chain.Descends(m, least) {
		return nil
	}
	return fmt.Errorf("%s is at %+v, want %+v: %w", what, m, least, ErrDifferent)
}

// restoreAt restores a position that somebody has seen.
func (p *writer) restoreAt(ctx context.Context, _ *rand.Rand) error {
	var at stoat.Position
	var want Mark
	p.world.mu.Lock()
	for at, want = range p.world.positions {
		break
	}
	p.world.mu.Unlock()
	if at == 0 {
		return nil
	}
	m, err := p.world.restored(ctx, p.store, remote.RestoreOptions{Position: at})
	if errors.Is(err, remote.ErrNotKept) || errors.Is(err, remote.ErrLost) {
		return nil
	}
	if err == nil && m != want {
		err = fmt.Errorf("position %d is %+v, want %+v: %w", at, m, want, ErrDifferent)
	}
	return p.world.tolerate(err)
}

// pin pins a commit for a moment, and restores it.
func (p *writer) pin(ctx context.Context, rng *rand.Rand) error {
	p.world.mu.Lock()
	p.world.pins++
	name := fmt.Sprint("pin", p.world.pins)
	p.world.mu.Unlock()
	info, err := remote.Pin(ctx, p.store, name)
	if err != nil {
		return p.world.tolerate(err)
	}
	wait(ctx, rng, 50*time.Millisecond)
	_, err = p.world.restored(ctx, p.store, remote.RestoreOptions{Commit: info.Commit})
	return p.world.tolerate(errors.Join(err, remote.Unpin(ctx, p.store, name)))
}

// clone makes a clone and uses it, once or twice.
func (p *writer) clone(ctx context.Context, rng *rand.Rand) error {
	least, w := p.world.known(), p.world
	own, err := w.client(faultstore.NewServer(memstore.New()), rng.Uint64())
	if err == nil {
		_, err = remote.Clone(ctx, own, p.store, nil)
	}
	if err != nil {
		return w.tolerate(err)
	}
	cloned, disk, o := remote.CloneStore(own, p.store), memfs.New(), w.options
	o.LocalBytes = []int64{0, 2 << 10}[rng.IntN(2)]
	for range 1 + rng.IntN(2) {
		db, err := w.open(ctx, cloned, nil, o, hook.Settings{FS: disk, Tuning: p.tuning})
		if err != nil {
			return err
		}
		m, err := p.Chain.CheckDB(db.DB)
		if err == nil {
			err = p.after("a clone", m, least)
		}
		if err == nil {
			err = p.useClone(ctx, rng, db, cloned)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			return fmt.Errorf("a clone: %w", err)
		}
	}
	return nil
}

// useClone commits to a clone, reads it, checks it and detaches it.
func (p *writer) useClone(
	ctx context.Context, rng *rand.Rand, db *remote.DB, cloned objstore.Store,
) error {
	line, detached := p.Chain.Fork(), make(chan error, 1)
	detached <- nil
	for range rng.IntN(30) {
		_, err := p.Chain.Update(ctx, db.DB, line)
		switch n := rng.IntN(80); {
		case err != nil:
		case n < 4:
			if err = <-detached; err == nil {
				go func() {
					_, err := db.Detach(ctx)
					detached <- p.world.tolerate(err)
				}()
			} else {
				detached <- nil
			}
		case n < 8:
			_, err = p.Chain.CheckDB(db.DB)
		case n < 11:
			err = db.Check(ctx)
		case n < 14:
			err = p.lookInto(ctx, rng, cloned)
		}
		if err != nil {
			return errors.Join(err, <-detached)
		}
	}
	return <-detached
}

// lookInto opens a reader of a clone.
func (p *writer) lookInto(ctx context.Context, rng *rand.Rand, cloned objstore.Store) error {
	r, err := p.world.openReader(ctx, rng, cloned, memfs.New(), p.tuning)
	if err != nil {
		return err
	}
	return errors.Join(Hold(ctx, rng, p.Chain, r.DB), r.Close())
}
