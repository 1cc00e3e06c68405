package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// expected reports whether an error is one that a process in trouble may get.
func expected(err error) bool {
	return errors.Is(err, objstore.ErrUnknown) || errors.Is(err, faultstore.ErrFailed) ||
		errors.Is(err, faultstore.ErrCrashed)
}

// write is the script of a writer: it claims the role, and uses it until it fails or is fenced.
func (s *sim) write(ctx context.Context, log *Log) error {
	w, err := log.Claim(ctx, object.Claim{Writer: "w", Branch: 1 + s.rng.Uint64N(1000)})
	if err != nil {
		if expected(err) {
			return nil
		}
		return err
	}
	if err := s.judge.agrees("the claim that a writer believes in", w.State()); err != nil {
		return err
	}
	var saved *object.State
	for range 12 {
		switch s.rng.IntN(6) {
		case 0:
			var s *object.State
			if s, err = w.Save(ctx); err == nil && s != nil {
				saved = s
			}
		case 1:
			if saved != nil {
				err = w.Delete(ctx, saved, 1)
			}
		case 2:
			err = s.confirm(ctx, w)
		case 3:
			err = deleteStates(ctx, log)
		default:
			err = s.append(ctx, w)
		}
		for errors.Is(err, objstore.ErrUnknown) && !errors.Is(err, faultstore.ErrCrashed) &&
			s.rng.IntN(4) > 0 {
			err = w.Settle(ctx)
		}
		switch {
		case errors.Is(err, ErrFenced):
			if s.judge.truth.Epoch == w.State().Epoch {
				return fmt.Errorf("a writer is fenced in epoch %d, and nobody has claimed another",
					w.State().Epoch)
			}
			return nil
		case errors.Is(err, faultstore.ErrCrashed):
			return nil
		case expected(err), errors.Is(err, ErrUnsettled):
			continue
		case err != nil:
			return err
		}
		if err := s.judge.agrees("what a writer has acknowledged", w.State()); err != nil {
			return err
		}
	}
	return nil
}

// append adds commits, an edit, or a bound.
func (s *sim) append(ctx context.Context, w *Writer) error {
	at := w.State()
	commits := &object.Commits{First: at.Commit + 1}
	for range 1 + s.rng.IntN(3) {
		commits.Batches = append(commits.Batches, fmt.Appendf(nil, "batch of %d", s.ids))
	}
	parts := []object.Part{{Commits: commits}}
	switch s.rng.IntN(4) {
	case 0:
		parts = append(parts, object.Part{Edit: s.edit(at.Version, commits.Last())})
	case 1:
		if at.Number > at.Bound {
			parts = append(parts, object.Part{Bound: at.Bound + 1})
		}
	}
	err := w.Append(ctx, parts)
	if err == nil {
		s.acks++
	}
	return err
}

// edit replaces the table of a version by one with all commits.
func (s *sim) edit(v *manifest.Version, last uint64) *manifest.Edit {
	e := &manifest.Edit{LastCommit: last, NextNumber: v.NextNumber + 1}
	for _, t := range v.Bottom.Tables {
		e.Remove = append(e.Remove, t.Number)
	}
	e.AddBottom = []*manifest.Table{{
		Number: v.NextNumber, Size: 300, Entries: 1, RawBytes: 2, Smallest: []byte("\x10a"),
		Largest: []byte("\x10a"),
	}}
	return e
}

// confirm checks that a writer which is told that it is the writer knew all that counted before.
func (s *sim) confirm(ctx context.Context, w *Writer) error {
	before := s.judge.truth.Number
	err := w.Confirm(ctx)
	if err == nil && w.State().Number < before {
		return fmt.Errorf("a writer is confirmed at %d, and the log was at %d", w.State().Number, before)
	}
	return err
}

// deleteStates deletes all states but the newest.
func deleteStates(ctx context.Context, log *Log) error {
	listed, err := log.Store.List(ctx, statePrefix, "", 100)
	if err != nil || len(listed) < 2 {
		return err
	}
	var names []string
	for _, o := range listed[1:] {
		names = append(names, o.Name)
	}
	return log.Store.Delete(ctx, names)
}

// follow is the script of a reader.
func (s *sim) follow(ctx context.Context, log *Log) error {
	f, err := log.Follow(ctx)
	if err != nil {
		if expected(err) {
			return nil
		}
		return err
	}
	for range 30 {
		before := f.State().Number
		if s.rng.IntN(4) == 0 {
			_, err = f.Jump(ctx)
		} else {
			_, _, err = f.Next(ctx)
		}
		if errors.Is(err, faultstore.ErrCrashed) {
			return nil
		}
		if err != nil && !expected(err) {
			return err
		}
		if f.State().Number < before {
			return fmt.Errorf("a follower goes back from %d to %d", before, f.State().Number)
		}
		if err := s.judge.agrees("what a follower believes", f.State()); err != nil {
			return err
		}
	}
	return nil
}

// takeOver checks that a machine which has only the store finds all that counts, and can go on.
func (s *sim) takeOver(ctx context.Context, log *Log) error {
	end := s.judge.truth.Number
	w, err := log.Claim(ctx, object.Claim{Writer: strings.Repeat("w", 10), Branch: 7})
	if err != nil {
		return err
	}
	if w.State().Number != end+1 {
		return fmt.Errorf("it takes over at %d, and the log ends at %d", w.State().Number, end)
	}
	for _, p := range w.State().Pending {
		if _, err := log.get(ctx, p.Number); err != nil {
			return fmt.Errorf("a pending object is lost: %w", err)
		}
	}
	if err := s.append(ctx, w); err != nil {
		return err
	}
	return s.judge.agrees("the last append", w.State())
}
