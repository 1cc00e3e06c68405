package history

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// after returns an object with the commit after all that a writer has prepared.
func after(w *Writer) []object.Part {
	return []object.Part{{Commits: &object.Commits{
		First: w.Head().Commit + 1, Batches: [][]byte{[]byte("batch")},
	}}}
}

// mustStop puts a barrier so far after a state.
func mustStop(t *testing.T, l *Log, s *object.State, ahead uint64) {
	t.Helper()
	o := &object.Log{Header: l.header(s, s.Epoch), Barrier: true}
	o.Number = s.Number + ahead
	p, err := l.Codec.EncodeLog(o)
	check(t, err)
	check(t, l.Store.Create(t.Context(), logName(o.Number), p))
}

func TestBarrier_fencesTheWriterThatMeetsIt(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), object.Claim{Writer: "w", Branch: 1, Window: 2})
	check(t, err)
	mustStop(t, l, w.State(), 3)
	check(t, w.Append(t.Context(), commit()))
	for range 2 {
		_, err := w.Prepare(after(w))
		check(t, err)
	}
	check(t, w.sent[1].Send(t.Context())) // it meets the barrier
	err = w.Finish(t.Context())
	if !errors.Is(err, ErrFenced) || !errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("the writer goes on, or knows what becomes of its commit: %v", err)
	}
	if strings.Contains(err.Error(), "has taken over") {
		t.Errorf("nobody has claimed the role: %v", err)
	}
	if w.State().Commit != 2 {
		t.Errorf("acknowledged up to %d", w.State().Commit)
	}
	if err := w.Proof().Confirm(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("the writer is confirmed: %v", err)
	}
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	if s := next.State(); s.Commit != 2 || len(s.Void) != 1 || s.Number != 5 {
		t.Errorf("the next writer is at %d, with %d commits, %d void", s.Number, s.Commit, len(s.Void))
	}
}

func TestErrFenced_saysWhoHasTakenOver(t *testing.T) {
	for name, want := range map[string]string{"": "another writer", "host-b": `"host-b"`} {
		l := newLog(t)
		w, err := l.Claim(t.Context(), claim())
		check(t, err)
		_, err = l.Claim(t.Context(), object.Claim{Writer: name, Branch: 2})
		check(t, err)
		for _, err := range []error{w.Proof().Confirm(t.Context()), w.Append(t.Context(), commit())} {
			if !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), want+" has taken over") {
				t.Errorf("%q has taken over: %v", name, err)
			}
		}
	}
}

// What a writer has sent after the object that met the barrier continues nothing.
func TestBarrier_leavesALogThatGoesOn(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), object.Claim{Writer: "w", Branch: 1, Window: 2})
	check(t, err)
	mustStop(t, l, w.State(), 1)
	if err := w.Proof().Confirm(t.Context()); !errors.Is(err, ErrFenced) ||
		!errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("the writer is confirmed, or knows what becomes of its commits: %v", err)
	}
	for range 2 {
		_, err := w.Prepare(after(w))
		check(t, err)
	}
	check(t, w.sent[1].Send(t.Context()))
	if err := w.Finish(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("the writer goes on: %v", err)
	}
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	check(t, next.Append(t.Context(), commit()))
	if s := next.State(); s.Commit != 1 || len(s.Void) != 2 || s.Number != 5 {
		t.Errorf("the next writer is at %d, with %d commits, %d void", s.Number, s.Commit, len(s.Void))
	}
	end, err := l.Walk(t.Context(), Start(l.Database), func(*object.State) error { return nil })
	check(t, err)
	if end.ID != next.State().ID {
		t.Errorf("whoever walks the log ends at %d", end.Number)
	}
}

// A claim may come before the barrier that was to make room for it.
func TestBarrier_letsLaterWritersPass(t *testing.T) {
	l := newLog(t)
	first, err := l.Claim(t.Context(), object.Claim{Writer: "w", Branch: 1, Window: 2})
	check(t, err)
	mustStop(t, l, first.State(), 3)
	w, err := l.Claim(t.Context(), object.Claim{Writer: "w", Branch: 2, Window: 2})
	check(t, err)
	if walked, err := l.Walk(t.Context(), Start(l.Database), func(*object.State) error {
		return nil
	}); err != nil || walked.Number != 2 {
		t.Errorf("whoever walks the log ends at %d: %v", walked.Number, err)
	}
	for range 2 * barrierReach {
		check(t, w.Proof().Confirm(t.Context()))
		check(t, w.Append(t.Context(), after(w)))
		_, err := w.Prepare(after(w))
		check(t, err)
		if w.HasRoom() != (w.State().Number >= 2+barrierReach) {
			t.Fatalf("at %d, there is room for two requests: %t", w.State().Number, w.HasRoom())
		}
		check(t, w.Finish(t.Context()))
	}
	if s := w.State(); s.Commit != 4*barrierReach || len(s.Void) != 1 {
		t.Errorf("the writer has %d commits, %d void", s.Commit, len(s.Void))
	}
}

// A barrier may arrive late, where the object that counts was deleted.
func TestBarrier_inThePastIsNotBelieved(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	f, err := l.Follow(t.Context())
	check(t, err)
	_, moved, err := f.Next(t.Context())
	if check(t, err); !moved {
		t.Fatal("the claim is not read")
	}
	at := w.State()
	for range 3 {
		check(t, w.Append(t.Context(), after(w)))
	}
	saved, err := l.Save(t.Context(), w.State())
	if check(t, err); !saved {
		t.Fatal("no state is stored")
	}
	check(t, l.Store.Delete(t.Context(), []string{logName(2)}))
	mustStop(t, l, at, 1)
	_, _, err = f.Next(t.Context())
	if check(t, err); f.State().ID != w.State().ID {
		t.Errorf("the follower is at %d, id %x", f.State().Number, f.State().ID)
	}
}

// A claimant that reads the past may take a void claim for one that counts, and put a barrier of
// its epoch ahead of the end of the log.
func TestBarrier_ofAClaimThatDoesNotCountIsVoid(t *testing.T) {
	l := newLog(t)
	l.Parallel = 1 // so the barrier is stored before the claim
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	f := newFollower(*l, w.State())
	f.ToClaim()
	for range 4 {
		check(t, w.Append(t.Context(), after(w)))
	}
	saved, err := l.Save(t.Context(), w.State())
	if check(t, err); !saved {
		t.Fatal("no state is stored")
	}
	check(t, l.Store.Delete(t.Context(), []string{logName(2), logName(3)}))
	void, err := l.createClaim(t.Context(), f.State(), object.Claim{Branch: 9, Window: 1})
	check(t, err)
	if _, _, err := f.Next(t.Context()); err != nil || f.State().ID != void.ID {
		t.Fatalf("the claim is not read: %v", err)
	}
	f.vain = vainMost
	if _, err := f.Claim(t.Context(), l, claim()); !errors.Is(err, ErrBehind) {
		t.Fatalf("a claim in the past counts: %v", err)
	}
	if err := w.Append(t.Context(), after(w)); !errors.Is(err, ErrFenced) {
		t.Fatalf("the writer has not met the barrier: %v", err)
	}
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	if s := next.State(); s.Commit != 4 || len(s.Void) != 1 || s.Epoch != 2 {
		t.Errorf("the next writer has epoch %d, %d commits, %d void", s.Epoch, s.Commit, len(s.Void))
	}
	check(t, next.Append(t.Context(), after(next)))
}

// A late barrier may have the number of an object that counts and was deleted, while its writer
// does not know that it was stored.
func TestBarrier_inThePlaceOfAnObjectLeavesItsOutcomeUnknown(t *testing.T) {
	l := newLog(t)
	first, err := l.Claim(t.Context(), claim())
	check(t, err)
	at := first.State()
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	r, err := w.Prepare(after(w))
	check(t, err)
	check(t, l.Store.Create(t.Context(), logName(3), r.bytes)) // and no answer arrives
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	check(t, next.Append(t.Context(), after(next)))
	saved, err := l.Save(t.Context(), next.State())
	if check(t, err); !saved {
		t.Fatal("no state is stored")
	}
	check(t, l.Store.Delete(t.Context(), []string{logName(3)}))
	mustStop(t, l, at, 2)
	if err := w.Finish(t.Context()); !errors.Is(err, ErrFenced) ||
		!errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("the writer is told that its commit does not count: %v", err)
	}
}
