package ship

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
)

const (
	// partsBytes is how much a log object holds, at most, before it is compressed, besides an edit.
	partsBytes = 4 << 20
	// batchBytes is the largest commit that goes into a log object. Larger ones go to tables.
	batchBytes = 6 << 20
)

// shipment is a log object on its way.
type shipment struct {
	request *history.Request
	began   time.Time
	through uint64 // what was committed then
}

// sendNew sends log objects, while there is something to send and one more may be on its way.
func (s *Shipper) sendNew(ctx context.Context) error {
	for {
		next, err := s.next(ctx)
		if next == nil || err != nil {
			return err
		}
		s.send(ctx, next.request)
	}
}

// next prepares a log object of what is at hand: commits, then the edit of files that are stored.
// It returns nil if there is nothing, or no room.
func (s *Shipper) next(ctx context.Context) (*shipment, error) {
	s.writing.Lock()
	room, head := s.writer.HasRoom(), s.writer.Head()
	s.writing.Unlock()
	edit := s.cargo.edit(head.Version)
	bound := s.collector.bound.Load()
	wait, isDue := s.filesWait()
	detaches := s.detaching.Load() && head.Origin != nil
	acts := s.acting.Load() && !head.ActedSince(len(head.Claims)-1)
	if !room || edit == nil && head.Commit >= s.due.Load() && head.Bound >= bound && !isDue &&
		!detaches && !acts {
		return nil, nil
	}
	next := &shipment{began: time.Now(), through: s.engine.Local()}
	s.lag.wait(next.through, next.began)
	// What is shipped must not be undone by a crash here.
	if err := s.engine.SyncThrough(next.through); err != nil && next.through > head.Commit {
		return nil, err
	}
	commits, err := s.commitsAfter(ctx, head.Commit, next.through)
	if err != nil {
		return nil, err
	}
	parts := partsOf(commits, edit, bound, head)
	if detaches {
		parts = append(parts, object.Part{Origin: new(object.Origin)})
	}
	if len(parts) == 0 && (wait || acts) { // what is due comes with files, which set off thereafter
		parts = []object.Part{{Edit: noEdit(head.Version)}}
	}
	if len(parts) == 0 {
		return nil, nil // the files have set off, or are not there yet
	}
	return next, s.prepare(next, parts)
}

// partsOf returns the parts of an object after a state: commits and an edit, unless they are nil,
// and a bound, if it is a new one.
func partsOf(
	commits *object.Commits, edit *manifest.Edit, bound uint64, head *object.State,
) (parts []object.Part) {
	if commits != nil {
		parts = append(parts, object.Part{Commits: commits})
	}
	if edit != nil {
		parts = append(parts, object.Part{Edit: edit})
	}
	if head.Bound < bound {
		parts = append(parts, object.Part{Bound: bound})
	}
	return parts
}

// noEdit returns an edit that changes nothing in a version.
func noEdit(v *manifest.Version) *manifest.Edit {
	return &manifest.Edit{LogNumber: v.LogNumber, LastCommit: v.LastCommit, NextNumber: v.NextNumber}
}

// prepare makes a shipment of parts the next one that is on its way.
func (s *Shipper) prepare(next *shipment, parts []object.Part) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	next.request, err = s.writer.Prepare(parts)
	if errors.Is(err, object.ErrTooLarge) && len(parts) > 1 {
		next.request, err = s.writer.Prepare(parts[:1]) // the others fit into the next one
	}
	if err != nil {
		return err
	}
	s.group.taken.Store(next.request.Next().Commit)
	s.sent = append(s.sent, next)
	s.prepared++
	return nil
}

// send has a log object stored, in the background.
func (s *Shipper) send(ctx context.Context, r *history.Request) {
	s.throttle.charge(r.Bytes()) // and does not wait for files
	s.running.Go(func() {
		began := time.Now()
		for tries := 1; ; tries++ {
			err := r.Send(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			s.note(err)
			retry.Sleep(ctx, retry.BackOff(tries), nil)
		}
		s.group.took.Store(int64(time.Since(began)))
		poke(s.answered)
	})
}

// acknowledge records what is stored, and returns what is to be sent again. After an error, nothing
// more will be acknowledged.
func (s *Shipper) acknowledge(ctx context.Context) (again *history.Request, err error) {
	s.writing.Lock()
	again, err = s.writer.Settle()
	state, unsettled := s.writer.State(), len(s.writer.Unsettled())
	s.writing.Unlock()
	if answered := len(s.sent) - unsettled; answered > 0 {
		last := s.sent[answered-1]
		s.sent = slices.Delete(s.sent, 0, answered)
		s.counted += uint64(answered)
		s.delivered(last, state)
		s.saveState(ctx, state)
		s.flushPending(state)
	}
	if errors.Is(err, history.ErrFenced) {
		s.fence(err)
	} else if err != nil {
		s.fail(err)
	}
	return again, err
}

// fail ends shipping because of an error that says nothing about commits that are withheld.
func (s *Shipper) fail(err error) {
	s.end(err)
	if s.config.Withhold {
		s.engine.Abandon(err)
	}
}

// delivered records what the log has now. The last of the log objects that it has in addition is
// given.
func (s *Shipper) delivered(last *shipment, state *object.State) {
	s.group.callers.Store(state.Commit - s.shipped.Load())
	s.shipped.Store(state.Commit)
	s.lag.delivered(state.Commit, last.through, last.began)
	if s.config.Withhold {
		s.engine.Acknowledge(state.Commit)
	}
	s.note(nil)
}

// finish ships what is left, with tries until ctx ends.
func (s *Shipper) finish(ctx context.Context) error {
	for {
		s.writing.Lock()
		unsettled := s.writer.Unsettled()
		s.writing.Unlock()
		for _, r := range unsettled {
			if err := s.sendUntil(ctx, r); err != nil {
				return err
			}
		}
		if again, err := s.acknowledge(ctx); err != nil {
			return err
		} else if again != nil {
			continue
		}
		s.due.Store(s.engine.Local())
		if next, err := s.next(ctx); next == nil || err != nil {
			return err
		}
	}
}

// sendUntil has a log object stored, and returns why it is not once ctx ends. Whatever fails may
// pass, also what is not permitted: credentials are renewed, and rights take a while to be valid
// everywhere.
func (s *Shipper) sendUntil(ctx context.Context, r *history.Request) error {
	var why error // and not that ctx has ended, unless there is nothing else to say
	for tries := 1; ; tries++ {
		err := r.Send(ctx)
		if err == nil {
			return nil
		}
		if why == nil || ctx.Err() == nil {
			why = err
		}
		if !retry.Sleep(ctx, retry.BackOff(tries), nil) {
			return why
		}
	}
}

// errFull reports that one more commit does not fit a log object.
var errFull = errors.New("the log object is full")

// commitsAfter returns the commits after one, up to through, as many as fit a log object; nil if
// there are none, or the next one comes with tables.
func (s *Shipper) commitsAfter(
	ctx context.Context, after, through uint64,
) (commits *object.Commits, err error) {
	if through <= after {
		return nil, nil
	}
	bytes := 0
	c := &object.Commits{First: after + 1}
	err = s.follower.Through(ctx, after, through, func(b commit.Batch) error {
		size := b.Size()
		if size > batchBytes || bytes+size > partsBytes && bytes > 0 {
			return errFull
		}
		c.Batches = append(c.Batches, b.Keep())
		bytes += size
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFull) && !errors.Is(err, commit.ErrLagged):
		return nil, err
	case len(c.Batches) > 0:
		return c, nil
	case errors.Is(err, errFull):
		// It is too large for the log, so it has to go to tables, which are shipped then.
		return nil, s.engine.Flush()
	}
	return nil, nil
}

// saveState begins to store a state if there are many log objects since the last one. If it cannot
// be stored, a later one will be.
func (s *Shipper) saveState(ctx context.Context, state *object.State) {
	if state.Number < s.saved.Load()+stateEvery || s.saving.Swap(true) {
		return
	}
	s.running.Go(func() {
		defer s.saving.Store(false)
		if saved, err := s.log.Save(ctx, state); err != nil {
			s.note(err)
		} else if saved {
			s.saved.Store(state.Number)
		}
	})
}

// flushPending begins to bring commits to tables if many log objects have them. Whoever opens the
// database reads all these objects, which few and small commits would let grow for weeks.
func (s *Shipper) flushPending(state *object.State) {
	if len(state.Pending) < pendingMax || state.Pending[0].Last <= s.flushed.Load() ||
		s.flushing.Swap(true) {
		return
	}
	s.running.Go(func() {
		defer s.flushing.Store(false)
		through := s.engine.Local()
		if err := s.engine.Flush(); err == nil {
			s.flushed.Store(through)
		}
	})
}
