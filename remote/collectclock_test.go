package remote_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// dated is a store that says of all objects when they were stored.
type dated struct {
	objstore.Store
	at time.Time
}

// List implements [objstore.Store].
func (d dated) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	listed, err := d.Store.List(ctx, prefix, after, limit)
	for i := range listed {
		listed[i].Modified = d.at
	}
	return listed, err
}

// TestCollect_asksTheStoreAboutAClockThatWasAhead has a writer whose clock is right, after one
// whose clock was years ahead: so is the time of all that comes after it in the log.
func TestCollect_asksTheStoreAboutAClockThatWasAhead(t *testing.T) {
	for name, c := range map[string]struct {
		stored  time.Duration // before now; 0: the store does not tell
		deletes bool
	}{
		"long ago": {time.Hour, true}, "a moment ago": {time.Second, false}, "unknown": {},
		"in the future": {-time.Hour, false},
	} {
		store, disk, h := memstore.New(), memfs.New(), newHistory(t, 25)
		synctest.Test(t, func(t *testing.T) {
			<-time.After(3 * 365 * 24 * time.Hour)
			db, err := open(t, store, disk, quick(), tuned.Sizes()[0])
			ok(t, err)
			busy(t, h, db, 100)
			ok(t, db.Close())
		})
		synctest.Test(t, func(t *testing.T) {
			told, o := dated{Store: store}, quick()
			if c.stored != 0 {
				told.at = time.Now().Add(-c.stored)
			}
			o.Retention = time.Minute
			db, err := open(t, told, disk, o, tuned.Sizes()[0])
			ok(t, err)
			busy(t, h, db, 1)
			n, err := db.Collect(t.Context())
			if ok(t, err); n > 0 != c.deletes {
				t.Errorf("stored %s: %d objects are deleted", name, n)
			}
			ok(t, db.Close())
		})
		h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
	}
}
