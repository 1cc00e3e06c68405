package ship

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
)

// Confirm returns nil if this is still the writer, at a moment during the call, and an error that
// matches [history.ErrFenced] if it is not. It tries until ctx ends.
func (s *Shipper) Confirm(ctx context.Context) error {
	if ended := s.whyEnded(); ended != nil {
		return ended
	}
	for tries := 1; ; tries++ {
		err := s.confirmOnce(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, history.ErrFenced):
			return err
		case errors.Is(err, history.ErrMoved) && ctx.Err() == nil: // the next proof is of now
		case !retry.Sleep(ctx, retry.BackOff(tries), nil):
			return fmt.Errorf("confirm: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// confirmOnce is Confirm with one try, for which a writer may go on too fast.
func (s *Shipper) confirmOnce(ctx context.Context) error {
	s.writing.Lock()
	proof := s.writer.Proof()
	s.writing.Unlock()
	err := proof.Confirm(ctx)
	if errors.Is(err, history.ErrFenced) {
		s.fence(err)
	}
	return err
}

// fence records that somebody else is the writer. Commits that are withheld fail.
func (s *Shipper) fence(err error) {
	s.end(err)
	if s.config.Withhold {
		s.engine.Refuse(err)
	}
}
