package history

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
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

// atHand returns how many bytes a follower has fetched and not read yet.
func atHand(f *Follower) (bytes int) {
	for _, p := range f.ahead.objects {
		bytes += len(p)
	}
	return bytes
}

// A log whose commits are large is not in memory as a whole, whether they come after the newest
// state or before it, and is read with as many requests as if it was.
func TestOpen_fetchesWhatFitsIntoMemory(t *testing.T) {
	const commits, limit = 40, 3000
	for _, saved := range []bool{false, true} {
		l := newLog(t)
		w, err := l.Claim(t.Context(), claim())
		check(t, err)
		largest := 0
		for range commits {
			batch := make([]byte, 500)
			_, _ = rand.Read(batch)
			parts := after(w)
			parts[0].Commits.Batches = [][]byte{batch}
			r, err := w.Prepare(parts)
			check(t, err)
			check(t, w.Finish(t.Context()))
			largest = max(largest, r.Bytes())
		}
		if saved {
			_, err := l.Save(t.Context(), w.State())
			check(t, err)
		}
		store := faultstore.NewServer(l.Store).Client(nil)
		l.Store, l.opening, l.Parallel = store, limit, 1
		f, end, err := l.Open(t.Context())
		check(t, err)
		for ; f.State().Number < end; next(t, f) {
			if n := atHand(f); n > limit+largest {
				t.Fatalf("saved: %v, before number %d: %d bytes are at hand", saved, f.State().Number, n)
			}
		}
		n := 0
		check(t, f.Commits(t.Context(), func(uint64, []byte) error {
			if n++; atHand(f) > limit+largest {
				t.Fatalf("saved: %v, at commit %d: %d bytes are at hand", saved, n, atHand(f))
			}
			return nil
		}))
		if n != commits || f.State().ID != w.State().ID {
			t.Errorf("saved: %v: %d commits, and the state %d", saved, n, f.State().Number)
		}
		if got := store.Count(faultstore.Get); !saved && got > 2*commits+1 || saved && got > commits+2 {
			t.Errorf("saved: %v: %d requests of objects", saved, got)
		}
	}
}

// next has a follower read what is next.
func next(t testing.TB, f *Follower) {
	t.Helper()
	if _, moved, err := f.Next(t.Context()); err != nil || !moved {
		t.Fatalf("moved: %v, error %v", moved, err)
	}
}
