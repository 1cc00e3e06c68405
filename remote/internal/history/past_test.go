package history

import (
	"context"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// counted is a store that counts how many log objects it has listed, and in how many requests.
type counted struct {
	objstore.Store
	requests, listed int
}

func (c *counted) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	listed, err := c.Store.List(ctx, prefix, after, limit)
	if prefix == logPrefix {
		c.requests, c.listed = c.requests+1, c.listed+len(listed)
	}
	return listed, err
}

// longLog returns a log with a claim, commits 1 to 29, one by one, and states at objects 10 and 20,
// whose times are their numbers; and its end, after which the store has another 2500 objects.
func longLog(t testing.TB) (*Log, *counted, *object.State) {
	t.Helper()
	l, now := newLog(t), uint64(0)
	l.Now = func() uint64 { now++; return now }
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	for n := uint64(2); n <= 30; n++ {
		batches := object.Commits{First: n - 1, Batches: [][]byte{fmt.Append(nil, n)}}
		check(t, w.Append(t.Context(), []object.Part{{Commits: &batches}}))
		if n == 10 || n == 20 {
			_, err := l.Save(t.Context(), w.State())
			check(t, err)
		}
	}
	for n := range uint64(2500) {
		check(t, l.Store.Create(t.Context(), logName(31+n), []byte("later")))
	}
	store := &counted{Store: l.Store}
	l.Store = store
	return l, store, w.State()
}

// A log of some days has hundreds of thousands of objects.
func TestPast_listsNoMoreOfTheLogThanItNeeds(t *testing.T) {
	l, store, end := longLog(t)
	want := func(what string, listed int) {
		t.Helper()
		if store.requests != 1 || store.listed != listed {
			t.Errorf("%s: %d requests have listed %d objects, want %d in one", what, store.requests,
				store.listed, listed)
		}
		store.requests, store.listed = 0, 0
	}
	for _, time := range []uint64{5, 15, 25} {
		s, err := l.AtTime(t.Context(), end, time)
		check(t, err)
		if s.Number != time {
			t.Errorf("at %d, there is the state of %d", time, s.Number)
		}
		want(fmt.Sprint("at time ", time), 10)
	}
	s, err := l.AtCommit(t.Context(), end, 25)
	check(t, err)
	want("at commit 25", 10)
	commits := uint64(0)
	check(t, l.BatchedCommits(t.Context(), s, func(commit uint64, _ []byte) error {
		commits++
		return nil
	}))
	if s.Commit != 25 || commits != 25 {
		t.Errorf("commit %d has %d commits", s.Commit, commits)
	}
	want("the commits", 25)
}

func TestListedAfter_endsAtItsLastNumber(t *testing.T) {
	l, _, _ := longLog(t)
	check(t, l.Store.Create(t.Context(), logName(4)+"x", []byte("strange")))
	check(t, l.Store.Delete(t.Context(), []string{logName(6), logName(7)}))
	for _, c := range []struct {
		after, through uint64
		count          int
		last           uint64
	}{
		{0, 0, 0, 0}, {9, 4, 0, 0}, {0, 5, 5, 5}, {3, 5, 2, 5}, {3, 7, 2, 5}, {3, 9, 4, 9},
		{5, 8, 1, 8}, {0, 1 << 63, 2528, 2530}, {2000, 2600, 530, 2530},
	} {
		listed, err := l.listedAfter(t.Context(), c.after, c.through)
		check(t, err)
		if len(listed) != c.count || lastOf(listed) != c.last {
			t.Errorf("after %d through %d, %d are listed up to %d, want %d up to %d", c.after, c.through,
				len(listed), lastOf(listed), c.count, c.last)
		}
	}
}
