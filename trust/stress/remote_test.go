package stress

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

func TestRemote_isSoundWhateverHappensAtOnce(t *testing.T) {
	seeds(t, func(seed uint64) (acts int64) {
		s := succession{world: newWorld(t, seed), disk: memfs.New()}
		for range 5 {
			acts += s.next()
			if t.Failed() {
				break
			}
		}
		s.finish()
		return acts
	})
}

// succession is one writer after the other.
type succession struct {
	*world
	disk    *memfs.FS      // the folder of the next one
	standby *remote.Reader // takes over, unless it is nil
	before  *writer        // still runs, unless it is nil
	floor   Mark           // what the next one must find
}

// next opens the database, uses it for a while, and decides how it ends.
func (s *succession) next() (acts int64) {
	p, err := s.begin()
	s.endBefore()
	if err == nil {
		err = p.Begin(s.t.Context(), s.floor)
	}
	if err != nil {
		s.t.Error(err)
		if p != nil {
			s.t.Log(p.db.Close())
		}
		return 0
	}
	ctx, stop := context.WithCancel(s.t.Context())
	p.stop = stop
	seed := s.rng.Uint64()
	go func() { p.ended <- p.Run(ctx, seed, 10, p.actions()) }()
	select {
	case err := <-p.ended:
		p.ended <- err
	case <-time.After(time.Duration(50+s.rng.IntN(600)) * time.Millisecond):
	}
	s.endOf(p)
	return p.acts.Load()
}

// begin opens the database.
func (s *succession) begin() (*writer, error) {
	sizes := tuned.Sizes()
	p := &writer{world: s.world, tuning: sizes[s.rng.IntN(len(sizes))], ended: make(chan error, 1)}
	var err error
	if p.store, err = s.client(s.server, s.rng.Uint64()); err != nil {
		return nil, err
	}
	settings := hook.Settings{FS: s.disk, Tuning: p.tuning}
	p.db, err = s.open(s.t.Context(), p.store, s.standby, s.options, settings)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	s.standby = nil
	p.Crowd = &Crowd{
		Chain: s.chain, DB: p.db.DB, Line: s.chain.Fork(), Key: s.key, Expected: p.expected,
	}
	return p, nil
}

// endOf ends a writer, or has it run on until another one has taken over.
func (s *succession) endOf(p *writer) {
	switch s.rng.IntN(5) {
	case 0: // in calm
		p.stop()
		err := <-p.ended
		p.ended <- errors.Join(err, s.wantWhole(p))
		p.end()
		s.floor = p.Acked()
	case 1: // while it is used; the folder stays
		p.end()
		s.floor = p.Acked()
	case 2: // and without the folder
		s.floor = s.known()
		if p.end() || s.options.Durability == remote.Wait { // else a large transaction came last
			s.floor = p.Acked()
		}
		s.disk = memfs.New()
	case 3:
		s.runOn(p)
	case 4:
		s.runOn(p)
		var err error
		s.standby, err = s.openReader(s.t.Context(), s.rng, p.store, memfs.New(), p.tuning)
		if err != nil {
			s.t.Errorf("open a standby: %v", err)
		}
	}
}

// runOn has a writer run on while another one takes over with an empty folder.
func (s *succession) runOn(p *writer) {
	s.floor, s.before, s.disk = s.known(), p, memfs.New()
	if s.options.Durability == remote.Wait {
		s.floor = p.Acked()
	}
	p.fenced.Store(true)
}

// endBefore ends the writer that has run on.
func (s *succession) endBefore() {
	if s.before != nil {
		s.before.end()
		s.before = nil
	}
}

// finish ends what is left.
func (s *succession) finish() {
	s.endBefore()
	if s.standby != nil {
		if err := s.standby.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

// wantWhole returns an error unless a database that nobody uses is whole, here and in the store.
func (s *succession) wantWhole(p *writer) error {
	ctx := s.t.Context()
	err := errors.Join(p.db.Ship(ctx), p.View(ctx, s.rng), p.db.Check(ctx))
	m, failed := p.Chain.CheckDB(p.db.DB)
	var calm objstore.Store = s.server.Client(nil)
	calm, sealed := s.sealed(calm)
	if err := errors.Join(err, failed, sealed); err != nil {
		return err
	}
	if _, err := remote.Verify(ctx, calm); err != nil {
		return err
	}
	at, err := s.restored(ctx, calm, remote.RestoreOptions{})
	if err == nil && at != m {
		err = fmt.Errorf("the copy is at %+v, want %+v: %w", at, m, ErrDifferent)
	}
	return err
}
