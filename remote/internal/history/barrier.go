package history

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// barrierReach is how far after the last object that it has read a claimant may put a barrier.
	barrierReach = 16
	// barrierFirst is how far it puts the first one. If the log is there before, the next one is twice
	// as far.
	barrierFirst = 4
	// vainMost is how many claims are in vain before that: the first one may have been a guess.
	vainMost = 2
)

// calm returns the number up to which there may be barriers that were made before the newest claim,
// against the writer before; 0 if there was none.
func calm(s *object.State) uint64 {
	if len(s.Claims) < 2 {
		return 0
	}
	return s.Claims[len(s.Claims)-1].Number + barrierReach
}

// passes reports whether the writer who has acknowledged a state goes on after an object that has
// taken its next number: a barrier stops those of its epoch and before.
func passes(s *object.State, l *object.Log) bool {
	return l.Barrier && l.Epoch < s.Epoch || Judge(s, l) == Void
}

// errStopped returns the error of a writer that barrier n stops. Its maker may never claim, and
// nothing says what becomes of commits: the folder may be opened again, and what the writer has
// sent with lower numbers may be stored yet.
func errStopped(n uint64) error {
	return fmt.Errorf("%w: %w: another process has begun to take over, as log object %d says; if it "+
		"does not go on, the database has no writer until it is opened again, with this folder or "+
		"elsewhere", ErrFenced, objstore.ErrUnknown, n)
}

// stop sends a barrier, together with a glance, to stop a writer that takes each number before a
// claim can: so far ahead that the writer is not there yet when the barrier arrives. Then the
// number after it is free. Whether that succeeds shows when the log is read.
func (f *Follower) stop(as *Log, g *glance) error {
	s := f.state
	if f.vain < vainMost || f.barrier > s.Number || s.Epoch == 0 {
		return nil
	}
	f.reach = min(max(2*f.reach, barrierFirst), barrierReach)
	o := &object.Log{Header: as.header(s, s.Epoch), Barrier: true}
	o.Number = s.Number + f.reach
	p, err := as.Codec.EncodeLog(o)
	if err != nil {
		return err
	}
	f.barrier = o.Number
	g.ask(func(ctx context.Context) error { return as.Store.Create(ctx, logName(o.Number), p) })
	return nil
}
