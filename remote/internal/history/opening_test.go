package history

import (
	"context"
	"testing"

	"github.com/stoatdb/stoat/remote/internal/object"
)

// prepared is a claim by a process that stops before its claim is created.
func prepared(t testing.TB, l *Log, after *object.State) (create func()) {
	t.Helper()
	c := claim()
	c.Base, c.Window = 0, 1
	o := &object.Log{Header: l.header(after, after.Epoch+1), Claim: &c}
	p, err := l.Codec.EncodeLog(o)
	check(t, err)
	return func() { check(t, l.Store.Create(context.Background(), logName(o.Number), p)) }
}

// A look back is about what was fetched before it, and not about claims that come later, perhaps in
// the place of what was deleted.
func TestFollower_looksBackAfterWhatItFetched(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	late := prepared(t, l, w.State())
	f, _, err := l.Open(t.Context())
	check(t, err)
	next(t, f) // and looks back

	commits := commit()
	for range 3 {
		check(t, w.Append(t.Context(), commits))
		commits[0].Commits.First++
	}
	_, err = l.Save(t.Context(), w.State())
	check(t, err)
	check(t, l.Store.Delete(t.Context(), []string{logName(2), logName(3)}))
	late()
	next(t, f)
	if f.State().ID != w.State().ID {
		t.Errorf("the follower is at %d in epoch %d, and the log at %d in epoch %d", f.State().Number,
			f.State().Epoch, w.State().Number, w.State().Epoch)
	}
}

// next has a follower read what is next.
func next(t testing.TB, f *Follower) {
	t.Helper()
	if _, moved, err := f.Next(t.Context()); err != nil || !moved {
		t.Fatalf("moved: %v, error %v", moved, err)
	}
}
