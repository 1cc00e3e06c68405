package ship

import (
	"context"
	"errors"
	"time"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/object"
)

const (
	// partsBytes is how much a log object holds, at most, before it is compressed, besides an edit.
	partsBytes = 4 << 20
	// batchBytes is the largest commit that goes into a log object. Larger ones go to tables.
	batchBytes = 6 << 20
)

// ship stores one log object with what is at hand: commits, then the edit of files that are stored.
// It reports whether there is more.
func (s *Shipper) ship(ctx context.Context) (more bool, err error) {
	began, through := time.Now(), s.engine.Visible()
	if through > s.shipped.Load() {
		s.behind.CompareAndSwap(0, began.UnixNano())
	}
	if err := s.writer.Settle(ctx); err != nil {
		return false, err
	}
	// What is shipped must not be undone by a crash here.
	if err := s.engine.Sync(); err != nil && through > s.writer.State().Commit &&
		!errors.Is(err, engine.ErrClosed) {
		return false, err
	}
	commits, err := s.collect(ctx, through)
	if err != nil {
		return false, err
	}
	var parts []object.Part
	if commits != nil {
		parts = append(parts, object.Part{Commits: commits})
	}
	if edit := s.cargo.edit(s.writer.State().Version); edit != nil {
		parts = append(parts, object.Part{Edit: edit})
	}
	if len(parts) > 0 {
		if err := s.writer.Append(ctx, parts); err != nil {
			return false, err
		}
		more = s.writer.State().Commit < through // an edit may have come with commits before others
	}
	s.delivered(began, through)
	return more, s.saveState(ctx)
}

// delivered records what the log has now.
func (s *Shipper) delivered(began time.Time, through uint64) {
	state := s.writer.State()
	s.cargo.delivered(state.Version)
	s.shipped.Store(state.Commit)
	if state.Commit >= through {
		since := int64(0)
		if s.engine.Visible() > through {
			since = began.UnixNano() // what came since has not waited for longer
		}
		s.behind.Store(since)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moveLocked()
}

// errFull ends the collection of commits.
var errFull = errors.New("the log object is full")

// collect returns the next commits up to through, as many as fit a log object; nil if there are
// none, or the next one comes with tables.
func (s *Shipper) collect(
	ctx context.Context, through uint64,
) (commits *object.Commits, err error) {
	after, bytes := s.writer.State().Commit, 0
	if through <= after {
		return nil, nil
	}
	c := &object.Commits{First: after + 1}
	err = s.follower.Through(ctx, after, through, func(b commit.Batch) error {
		p := b.Bytes()
		if len(p) > batchBytes || bytes+len(p) > partsBytes && bytes > 0 {
			return errFull
		}
		c.Batches = append(c.Batches, append([]byte(nil), p...))
		bytes += len(p)
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

// saveState stores a state if there are many log objects since the last one.
func (s *Shipper) saveState(ctx context.Context) error {
	if s.writer.State().Number < s.saved+stateEvery {
		return nil
	}
	state, err := s.writer.Save(ctx)
	if err == nil && state != nil {
		s.saved = state.Number
	}
	return err
}
