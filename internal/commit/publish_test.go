package commit

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestShow_letsFollowersSeeWhatWasWithheld(t *testing.T) {
	c := durable
	c.Withheld, c.KeptBytes = true, 1<<20
	d := newDatabase(t, memfs.New(), c)
	users, local := d.follow(t), d.FollowLocal(Log{})
	defer local.Close()
	d.commit(t, "a", "b")
	if newest, err := local.Wait(t.Context(), 0); newest != 2 || err != nil {
		t.Errorf("a local follower sees commit %d: %v", newest, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if newest, err := users.Wait(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a follower sees commit %d, which is withheld: %v", newest, err)
	}
	d.Show(1)
	if newest, err := users.Wait(t.Context(), 0); newest != 1 || err != nil {
		t.Errorf("a follower sees commit %d: %v", newest, err)
	}
}

// A commit in tables can be seen before the pipeline counts it; then there may be no log to sync.
func TestSyncThrough_needsNoLogForACommitInTables(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a")
	ok(t, d.EndLog().Close())
	ok(t, d.SyncThrough(2))
	d.Skip(2)
	ok(t, d.SyncThrough(2))
}

func TestAdopt_leavesThePayloadToTheCaller(t *testing.T) {
	d := newDatabase(t, memfs.New(), Config{Volatile: true, KeptBytes: 1 << 20})
	f := d.follow(t)
	edit := d.edit("a")
	payload := slices.Concat(edit.Pending()...)
	d.Adopt(1, edit.Commit(), payload)
	clear(payload)
	all, err := told(t, f, 0, 1)
	if !slices.Equal(all, []string{"a"}) || !errors.Is(err, errEnough) {
		t.Errorf("told is %q: %v", all, err)
	}
}
