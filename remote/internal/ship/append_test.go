package ship

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestShipper_sendsAloneWhatDoesNotFitTogether has commits of 3.2 MB, and tables of one key each,
// so that the edit with their bounds has 6.4 MB more. A log object takes 8 MiB.
func TestShipper_sendsAloneWhatDoesNotFitTogether(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		source, err := NewSource(t.Context(), memstore.New())
		ok(t, err)
		s := New(source, Config{
			Window: 1, Uploads: 1, Interval: time.Hour, MaxLag: time.Hour, Retention: time.Hour,
		})
		e, err := engine.Open(memfs.New(), "db", engine.Options{
			Shipper: s, Tuning: engine.Tuning{TableBytes: 1},
		})
		ok(t, err)
		ok(t, s.Start(e))
		w, err := e.Begin()
		ok(t, err)
		key := make([]byte, 64_000)
		for range 50 {
			for i := range key {
				key[i] = byte(rng.UintN(256))
			}
			ok(t, w.Put(append(keyspace.AppendPrefix(nil, 0), key...), nil, 0))
		}
		ok(t, w.Commit())
		ok(t, e.Flush())
		synctest.Wait() // for the tables
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Wait(ctx); err != nil {
			t.Error(err)
		}
		state := s.state()
		if state.Commit != 1 || state.Number != 3 {
			t.Errorf("log object %d has commit %d; want a claim, the commit and the edit", state.Number,
				state.Commit)
		}
		cancel()
		ok(t, e.Close())
		_ = s.Stop(ctx)
	})
}
