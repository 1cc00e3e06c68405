package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// link has sessions between any two replicas until the end.
func (w *world) link(rng *rand.Rand) {
	for w.ctx.Err() == nil {
		a, b := w.any(rng), w.any(rng)
		if a == nil || b == nil || a == b {
			time.Sleep(time.Millisecond)
			continue
		}
		ctx, cancel := context.WithCancel(w.ctx)
		var timer *time.Timer
		opts := &replica.SyncOptions{Once: rng.IntN(3) == 0}
		if opts.Once {
			timer = time.AfterFunc(time.Minute, func() {
				w.failed(errors.New("hangs"), "a session of %s and %s", a.m.name, b.m.name)
			})
		} else {
			timer = time.AfterFunc(time.Duration(rng.IntN(400))*time.Millisecond, cancel)
		}
		_ = w.meet(ctx, rng, a, b, anyFlaws(rng), opts) // it has failed the test, if that is wrong
		timer.Stop()
		cancel()
	}
}

func anyFlaws(rng *rand.Rand) (f flaws) {
	if rng.IntN(2) == 0 {
		f.cut = 1 + rng.IntN(20_000)
	}
	if rng.IntN(2) == 0 {
		f.delays = 0.1
	}
	if rng.IntN(20) == 0 {
		f.repeats = 0.05
	}
	return f
}

// together has sessions of all pairs, some times.
func (w *world) together(times int) {
	for range times {
		for i, m := range w.members {
			for _, o := range w.members[:i] {
				_ = w.visit(w.ctx, o.life.Load(), m.life.Load())
			}
		}
	}
}

// visit has two replicas meet once, without flaws, and returns the error of the first one.
func (w *world) visit(ctx context.Context, a, b *life) error {
	rng := rand.New(rand.NewPCG(1, 1))
	return w.meet(ctx, rng, a, b, flaws{}, &replica.SyncOptions{Once: true})
}

// meet has a session, and returns the error of the first side.
func (w *world) meet(ctx context.Context, rng *rand.Rand, a, b *life, f flaws,
	opts *replica.SyncOptions) (failed error) {
	x, y := connect(rng, f)
	side := func(l, with *life, conn net.Conn) error {
		err := replica.Sync(ctx, l.space, conn, opts)
		if errors.Is(err, errCut) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			w.seen("session cut or cancelled")
			return err
		}
		w.sessionEnded(l, with, f, opts, err)
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { failed = side(a, b, x) })
	group.Go(func() { _ = side(b, a, y) })
	group.Wait()
	return failed
}

// sessionEnded counts how a session ended, and fails the test if that was wrong.
func (w *world) sessionEnded(l, with *life, f flaws, opts *replica.SyncOptions, err error) {
	text := "session"
	if !opts.Once {
		text += ", live"
	}
	if f.repeats > 0 {
		text += ", repeated"
	}
	if f.cut > 0 {
		text += ", cut"
	}
	if l.closing.Load() || with.closing.Load() {
		text += ", closing"
	}
	if w.settling {
		text += fmt.Sprintf(", %s with %s", l.m.name, with.m.name)
	}
	w.seen(fmt.Sprint(text, ": ", err))
	wrong := []error{stoat.ErrCorrupt, replica.ErrMismatch}
	if f.repeats == 0 {
		wrong = append(wrong, replica.ErrPeer, replica.ErrInvalid)
	}
	for _, e := range wrong {
		if errors.Is(err, e) {
			w.failed(err, "a session of %s with %s", l.m.name, with.m.name)
			return
		}
	}
}
