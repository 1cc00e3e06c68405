package remote_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// A long interval is a choice, and no outage: transactions must not wait for it. If both are given,
// commits are shipped before they have waited for MaxLag.
func TestInterval_holdsUpNoTransaction(t *testing.T) {
	for _, o := range []remote.Options{
		{Interval: time.Minute}, {Interval: time.Hour}, {Interval: math.MaxInt64},
		{Interval: time.Minute, MaxLag: 10 * time.Second}, {Interval: 10 * time.Second},
		{Interval: math.MaxInt64, MaxLag: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			db, err := open(t, memstore.New(), memfs.New(), o, engine.Tuning{})
			ok(t, err)
			for range 500 {
				began := time.Now()
				ok(t, db.Put([]byte("key"), nil))
				if waited := time.Since(began); waited > 0 {
					t.Fatalf("with an interval of %v and a lag of %v, a transaction waited for %v", o.Interval,
						o.MaxLag, waited)
				}
				<-time.After(time.Second)
			}
			ok(t, db.Close())
		})
	}
}
