package tail

import (
	"context"
	"errors"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// TakeOver takes the role of the writer, with a claim that depends on the state which it follows,
// and calls settle with the replica, which shows that state by then and does not change any more.
// Requests that fail are made again, until ctx ends, or [retry.Tries] times with Config.AtOnce. An
// error of claim ends it at once.
//
// If it returns an error, or settle does, the tail follows the log as before; the claim may have
// been made. Otherwise the tail has ended. It must not be called together with Close.
func (t *Tail) TakeOver(
	ctx context.Context, as *history.Log, claim func(*object.State) (object.Claim, error),
	settle func(*engine.Replica, *history.Writer) error,
) error {
	t.pause()
	as.Database = t.follower.State().Database
	defer t.claiming(time.Time{}, nil)
	w, err := t.claim(ctx, as, claim)
	if err == nil {
		err = settle(t.replica, w)
	}
	if err != nil {
		t.resume()
		return err
	}
	t.close()
	return nil
}

// claim reads to the end of the log and claims there, until that succeeds, or cannot, or ctx ends.
func (t *Tail) claim(
	ctx context.Context, as *history.Log, decide func(*object.State) (object.Claim, error),
) (*history.Writer, error) {
	began, before := time.Now(), as.Failed
	t.claiming(began, nil)
	as.Failed = func(err error) { t.claiming(began, err) }
	defer func() { as.Failed = before }()
	caughtUp := !t.behind && (t.config.AtOnce || t.isCurrent(began))
	mayBeStored := false // a claim, which has ended the writer before
	for tries := 1; ; tries++ {
		w, final, err := t.tryClaim(ctx, as, decide, caughtUp)
		caughtUp = false
		mayBeStored = mayBeStored || errors.Is(err, objstore.ErrUnknown)
		t.claiming(began, err)
		switch {
		case err == nil:
			return w, nil
		case errors.Is(err, history.ErrBehind):
			tries = 0
		case final, corrupt.IsLasting(err):
			return nil, err
		case t.config.AtOnce && !errors.Is(err, objstore.ErrUnknown) &&
			(tries >= retry.Tries || errors.Is(err, objstore.ErrDenied) && !mayBeStored):
			return nil, err
		default:
			retry.Sleep(ctx, min(retry.BackOff(tries), t.config.PollMax), nil)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

// tryClaim is one try of claim. An error is final if another try would end with it, too.
func (t *Tail) tryClaim(
	ctx context.Context, as *history.Log, decide func(*object.State) (object.Claim, error),
	caughtUp bool,
) (w *history.Writer, final bool, err error) {
	if !caughtUp {
		if err := t.catchUp(ctx); err != nil {
			return nil, false, err
		}
	}
	claim, err := decide(t.follower.State())
	if err != nil {
		return nil, true, err
	}
	before := t.follower.State()
	w, err = t.follower.Claim(ctx, as, claim)
	t.behind = t.behind || t.follower.State() != before // a claim that does not count makes it jump
	return w, false, err
}

// catchUp makes the replica show what the log has now.
func (t *Tail) catchUp(ctx context.Context) error {
	began := time.Now()
	end, jumped, err := t.follower.Fetch(ctx)
	t.behind = t.behind || jumped
	for err == nil && (t.behind || t.follower.State().Number < end) {
		more := false
		if more, err = t.step(ctx); err == nil && !more {
			more, err = t.jump(ctx)
		}
		if err == nil && !more {
			break // what is behind has overtaken a request that may never arrive: the log ends here
		}
	}
	t.note(began, err == nil, err)
	return err
}
