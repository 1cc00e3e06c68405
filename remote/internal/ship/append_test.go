package ship

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestShipper_sendsAloneWhatDoesNotFitTogether has a commit of 5.8 MB, and tables of one key each,
// so that the edit with their bounds has 11.5 MB. While the tables are on their way, there is a
// commit of 3.2 MB. A log object with commits takes 8 MiB.
func TestShipper_sendsAloneWhatDoesNotFitTogether(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		client := faultstore.NewServer(memstore.New()).Client(
			func(r faultstore.Request) faultstore.Fate {
				if r.Op == faultstore.Put && strings.HasPrefix(r.Name, "data/") {
					<-release
				}
				return faultstore.Answered
			})
		log, err := archive.NewLog(client)
		ok(t, err)
		s := New(t.Context(), log, Config{
			Window: 1, Uploads: 1, Interval: time.Hour, MaxLag: time.Hour, Retention: time.Hour,
		})
		e, err := engine.Open(memfs.New(), "db", engine.Options{
			Shipper: s, Tuning: engine.Tuning{TableBytes: 1},
		})
		ok(t, err)
		ok(t, s.Start(e))
		ok(t, putRandom(e, rng, 90))
		ok(t, s.Wait(t.Context()))
		synctest.Wait()
		select {
		case <-s.hurry: // or the next commit would not wait for the edit
		default:
		}
		ok(t, e.Flush())
		<-time.After(2 * commitPause) // for the first table
		ok(t, putRandom(e, rng, 50))
		close(release)
		synctest.Wait() // for the others
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Wait(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		state := s.state()
		if state.Commit != 2 || state.Number != 5 || state.Version.LastCommit != 1 {
			t.Errorf("log object %d has commit %d, and tables up to commit %d; want a claim, a commit, "+
				"what the files wait for, the other commit, and the edit", state.Number, state.Commit,
				state.Version.LastCommit)
		}
		cancel()
		ok(t, e.Close())
		_ = s.Stop(ctx)
	})
}

// TestShipper_doesNotPauseForACommitInTables has a commit that only tables have. Its files set off
// at once: no other commit may go to the log before it.
func TestShipper_doesNotPauseForACommitInTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := faultstore.NewServer(memstore.New()).Client(nil)
		log, err := archive.NewLog(client)
		ok(t, err)
		s := New(t.Context(), log, Config{
			Withhold: true, Window: 2, Uploads: 1, MaxLag: time.Hour, Retention: time.Hour,
		})
		e, err := engine.Open(memfs.New(), "db", engine.Options{
			Shipper: s, Tuning: engine.Tuning{MemtableBytes: 64 << 10, IdleAfter: time.Hour},
		})
		ok(t, err)
		ok(t, s.Start(e))
		before := client.Count(faultstore.Create)
		began := time.Now()
		ok(t, putRandom(e, rand.New(rand.NewPCG(8, 0)), 4))
		if waited := time.Since(began); waited >= commitPause {
			t.Errorf("it waits for %v, in which nothing else may be sent", waited)
		}
		if n := client.Count(faultstore.Create) - before; n != 2 {
			t.Errorf("%d log objects are created, not one that the files wait for, and the edit", n)
		}
		ok(t, e.Close())
		ok(t, s.Stop(t.Context()))
	})
}

// putRandom commits n random keys of 64 kB in one transaction.
func putRandom(e *engine.Engine, rng *rand.Rand, n int) error {
	w, err := e.Begin()
	if err != nil {
		return err
	}
	key := make([]byte, 64_000)
	for range n {
		for i := range key {
			key[i] = byte(rng.UintN(256))
		}
		if err := w.Put(append(keyspace.AppendPrefix(nil, 0), key...), nil, 0); err != nil {
			w.Rollback()
			return err
		}
	}
	return w.Commit()
}
