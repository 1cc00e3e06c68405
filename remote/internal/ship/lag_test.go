package ship

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/memstore"
)

// wantLag wants the oldest commit to have been waiting since some time ago.
func wantLag(t testing.TB, what string, l *lag, want time.Duration) {
	t.Helper()
	if got := l.now(); got != want {
		t.Errorf("%s: the oldest commit has been waiting for %v, want %v", what, got, want)
	}
}

func TestLag_isThatOfTheOldestCommitThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lag
		l.delivered(3, 0, time.Time{})
		wantLag(t, "at the start", &l, 0)
		l.wait(4, time.Now())
		<-time.After(time.Second)
		l.wait(5, time.Now())
		began := time.Now()
		<-time.After(time.Second)
		wantLag(t, "two wait", &l, 2*time.Second)
		l.delivered(4, 5, began)
		wantLag(t, "the object had no room for one", &l, 2*time.Second)
		l.wait(6, time.Now())
		l.delivered(5, 5, began)
		wantLag(t, "one came afterwards", &l, time.Second)
		l.delivered(6, 6, time.Now())
		wantLag(t, "all are there", &l, 0)
		l.wait(6, time.Now()) // whoever notes it was overtaken by the answer
		<-time.After(time.Hour)
		wantLag(t, "nothing waits", &l, 0)
	})
}

// TestShipper_hasNoLagOnceAllIsShipped has commits shipped by a call that does not wait for the
// goroutine that notes commits.
func TestShipper_hasNoLagOnceAllIsShipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := archive.NewLog(memstore.New())
		ok(t, err)
		s := New(t.Context(), log, Config{
			Window: 1, Uploads: 1, MaxLag: time.Second, Retention: time.Hour,
		})
		e, err := engine.Open(memfs.New(), "db", engine.Options{Shipper: s})
		ok(t, err)
		ok(t, s.Start(e))
		for i := range 500 {
			ok(t, put(e, fmt.Sprint(i)))
			ok(t, s.Wait(t.Context()))
			<-time.After(time.Millisecond)
			if lag := s.Status().Lag; lag != 0 {
				t.Errorf("after commit %d, one has been waiting for %v", i, lag)
				break
			}
		}
		ok(t, e.Close())
		ok(t, s.Stop(t.Context()))
	})
}
