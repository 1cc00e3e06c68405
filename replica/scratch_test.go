package replica

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
)

// Transactions share memory. Neither one that fails nor a large one may leave anything to the next,
// so each replica of a random history has what the other one has, and what was written.
func TestCommit_sharesNothingWithOthers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	a := newPeer(t, nil)
	b := newPeer(t, a)
	failed := errors.New("on purpose")
	want := map[int64]task{}
	for range 200 {
		wrote := map[int64]task{}
		fails := rng.IntN(3) == 0
		err := a.db.Update(func(tx *stoat.Tx) error {
			if fails {
				if err := tx.BeforeCommit(func() error { // runs after the entry was made
					return tx.BeforeCommit(func() error { return failed })
				}); err != nil {
					return err
				}
			}
			for range 1 + rng.IntN(30) {
				v := task{ID: rng.Int64N(40), Title: string(make([]byte, rng.IntN(9))), Done: true,
					Votes: rng.Int32N(9), Tags: []string{"x", "y"}[:rng.IntN(3)]}
				wrote[v.ID] = v
				if err := a.tasks.Put(tx, &v); err != nil {
					return err
				}
			}
			return nil
		})
		if fails != errors.Is(err, failed) {
			t.Fatal(err)
		}
		for id, v := range wrote {
			if !fails {
				want[id] = v
			}
		}
	}
	for id, v := range want {
		got := a.get(id)
		if got == nil || got.Title != v.Title || got.Votes != v.Votes || len(got.Tags) != len(v.Tags) {
			t.Errorf("%+v was stored, and is %+v", v, got)
		}
	}
	agreeAfter(t, a, b)
}
