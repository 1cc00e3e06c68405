package history

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
)

func TestWalk_fetchesWhatFitsIntoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		w, err := l.Claim(t.Context(), claim())
		check(t, err)
		rng := rand.NewChaCha8([32]byte{1})
		for n := range uint64(4) {
			batch := make([]byte, batchBytes/2-1000)
			_, _ = rng.Read(batch)
			check(t, w.Append(t.Context(), []object.Part{
				{Commits: &object.Commits{First: n + 1, Batches: [][]byte{batch}}},
			}))
		}
		store := &slow{Store: l.Store}
		l.Store = store
		end, err := l.Walk(t.Context(), Start(l.Database), func(*object.State) error { return nil })
		check(t, err)
		if end.Commit != 4 || store.gets != 5 || store.most > batchBytes {
			t.Errorf("up to commit %d, %d requests had %d bytes on their way", end.Commit, store.gets,
				store.most)
		}
	})
}

func TestWalk_namesAMissingObject(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	for range 3 {
		check(t, w.Append(t.Context(), after(w)))
	}
	check(t, l.Store.Delete(t.Context(), []string{logName(3)}))
	_, err = l.Walk(t.Context(), Start(l.Database), func(*object.State) error { return nil })
	if !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), logName(3)) {
		t.Errorf("log object 3 is missing: %v", err)
	}
}
