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
	claim := object.Claim{
		Writer: "w", Branch: 1 + s.rng.Uint64N(1000), Window: 1 + s.rng.Uint64N(3),
	}
	as := log.Claim
	if s.rng.IntN(2) == 0 {
		log.short = s.rng.IntN(6)
		toClaim := s.rng.IntN(2) == 0
		as = func(ctx context.Context, claim object.Claim) (*Writer, error) {
			return log.claimFollowing(ctx, claim, toClaim)
		}
	}
	w, err := as(ctx, claim)
	if err != nil {
		if expected(err) {
			return nil
		}
		return err
	}
	if err := s.judge.agrees("the claim that a writer believes in", w.State()); err != nil {
		return err
	}
	return s.use(ctx, log, w)
}

// use is the script of a process that has the role of the writer.
func (s *sim) use(ctx context.Context, log *Log, w *Writer) error {
	var saved *object.State
	for range 40 {
		if s.copying && s.rng.IntN(20) == 0 {
			s.start(ctx, "a copy of a writer", func(ctx context.Context, log *Log) error {
				return s.use(ctx, log, copied(w, log))
			})
		}
		before, sent := w.State().Number, w.Unsettled()
		err := s.writerStep(ctx, log, w, &saved)
		s.acks += int(w.State().Number - before)
		switch {
		case errors.Is(err, ErrFenced):
			return s.fencedRightly(w, sent, err)
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

// copied returns the writer that a copy of its machine runs, with the same claim and the same
// requests in flight.
func copied(w *Writer, log *Log) *Writer {
	c := &Writer{log: log, base: w.base, state: w.state, made: &made{last: w.made.last}}
	c.fenced, c.passed = w.fenced, w.passed
	for _, r := range w.sent {
		same := &Request{log: log, object: r.object, bytes: r.bytes, next: r.next}
		same.answer.Store(r.answer.Load())
		c.sent = append(c.sent, same)
	}
	return c
}

// claimFollowing takes the role of the writer as a reader does that becomes the writer: after it
// has followed the log, perhaps only for that.
func (l *Log) claimFollowing(
	ctx context.Context, claim object.Claim, toClaim bool,
) (*Writer, error) {
	f, _, err := l.Open(ctx)
	if errors.Is(err, objstore.ErrNotExist) {
		return l.Claim(ctx, claim)
	}
	if err != nil {
		return nil, err
	}
	f.toClaim = toClaim
	for {
		end, _, err := f.Fetch(ctx)
		for err == nil && f.State().Number < end {
			var moved bool
			if _, moved, err = f.Next(ctx); err == nil && !moved {
				_, err = f.Jump(ctx) // the object was deleted since
				break
			}
		}
		if err != nil {
			return nil, err
		}
		w, err := f.Claim(ctx, l, claim)
		if !errors.Is(err, ErrBehind) {
			return w, err
		}
	}
}

// writerStep does one thing that a writer does.
func (s *sim) writerStep(
	ctx context.Context, log *Log, w *Writer, saved **object.State,
) (err error) {
	switch s.rng.IntN(14) {
	case 0:
		state, stored := w.State(), false
		if stored, err = log.Save(ctx, state); stored {
			*saved = state
		}
	case 1:
		if *saved != nil && !s.copying {
			_, err = log.Trim(ctx, *saved)
		}
	case 2:
		err = s.confirm(ctx, w)
	case 3:
		err = deleteStates(ctx, log)
	case 4, 5, 6:
		_, err = w.Settle()
	case 7, 8, 9, 10:
		_, err = w.Prepare(s.parts(w.Head()))
	default:
		if sent := w.Unsettled(); len(sent) > 0 {
			err = sent[s.rng.IntN(len(sent))].Send(ctx) // in any order
		}
	}
	return err
}

// fencedRightly checks that another writer has claimed the role, and that nothing counts which this
// one had sent.
func (s *sim) fencedRightly(w *Writer, sent []*Request, err error) error {
	if s.judge.truth.Epoch == w.State().Epoch && s.judge.stops < w.State().Epoch && !s.copying {
		return fmt.Errorf("a writer is fenced in epoch %d, and nobody has claimed another",
			w.State().Epoch)
	}
	for _, r := range sent {
		if s.judge.counts[r.object.ID] && r.next.Number > w.State().Number &&
			!errors.Is(err, objstore.ErrUnknown) {
			return fmt.Errorf("a writer is told that log object %d does not count, and it does",
				r.next.Number)
		}
	}
	return nil
}

// parts returns commits after a state, and perhaps an edit or a bound.
func (s *sim) parts(at *object.State) []object.Part {
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
	return parts
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

// confirm checks that a writer which is told that it is the writer was, when it asked: the log
// ended with what it had acknowledged, or had sent.
func (s *sim) confirm(ctx context.Context, w *Writer) error {
	end, own := *s.judge.truth, w.State().ID == s.judge.truth.ID
	for _, r := range w.Unsettled() {
		own = own || r.object.ID == end.ID
	}
	err := w.Proof().Confirm(ctx)
	if err == nil && !own {
		return fmt.Errorf("a writer of epoch %d is confirmed at %d, and the log was at %d in epoch %d",
			w.State().Epoch, w.State().Number, end.Number, end.Epoch)
	}
	if errors.Is(err, ErrFenced) && s.judge.truth.Epoch == w.State().Epoch &&
		s.judge.stops < w.State().Epoch && !s.copying {
		return fmt.Errorf("a writer is told that it is fenced in epoch %d", w.State().Epoch)
	}
	if errors.Is(err, ErrFenced) {
		err = nil // it goes on, and learns of it once more
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

// open returns a follower, whose next objects may be fetched already.
func (s *sim) open(ctx context.Context, log *Log) (f *Follower, err error) {
	if s.rng.IntN(2) == 0 {
		return log.Follow(ctx)
	}
	log.short = s.rng.IntN(6)
	f, _, err = log.Open(ctx)
	return f, err
}

// follow is the script of a reader.
func (s *sim) follow(ctx context.Context, log *Log) error {
	f, err := s.open(ctx, log)
	if err != nil {
		if expected(err) || errors.Is(err, objstore.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := s.judge.agrees("what a follower opens", f.State()); err != nil {
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
		if err := s.judge.wasRight("what a follower believes", f.State()); err != nil {
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
	if err := w.Append(ctx, s.parts(w.State())); err != nil {
		return err
	}
	if err := w.Proof().Confirm(ctx); err != nil {
		return err
	}
	return s.judge.agrees("the last append", w.State())
}
