package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCheck_findsNothingWrongAfterWorkloads checks the result of each workload: with its log,
// through a reader, after closing, and opened again.
func TestCheck_findsNothingWrongAfterWorkloads(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			disk := memfs.New()
			r := &runner{
				workload: w, seed: crashes.Seed, fs: disk, line: newTimeline(),
				tolerate: func(err error) error { return err },
			}
			ok(t, r.open())
			ok(t, w.run(r))
			ok(t, r.db.Check(t.Context()))
			ok(t, r.db.CheckQuick(t.Context()))
			read := w.options
			read.ReadOnly = true
			reader, err := tuned.Open(disk, "db", &read, w.tuning)
			ok(t, err)
			ok(t, r.db.Close())
			wantErr(t, r.db.Check(t.Context()), stoat.ErrClosed)
			ok(t, reader.Check(t.Context()))
			ok(t, reader.Close())
			reader, err = tuned.Open(disk, "db", &read, w.tuning)
			ok(t, err)
			ok(t, reader.Check(t.Context()))
			if reader.Stats().Tables > 0 && reader.Stats().CheckedBytes < reader.Stats().TableBytes {
				t.Errorf("%d bytes were checked of %+v", reader.Stats().CheckedBytes, reader.Stats())
			}
			ok(t, reader.CheckQuick(t.Context()))
			ok(t, reader.Close())
			ok(t, r.open())
			ok(t, r.db.Check(t.Context()))
			ok(t, r.db.Close())
		})
	}
}

// TestCheck_besideWriters checks while transactions of all sizes are committed, flushed and
// compacted.
func TestCheck_besideWriters(t *testing.T) {
	db, err := tuned.Open(memfs.New(), "db", &outside, scattered)
	ok(t, err)
	done := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				err := db.Update(func(tx *stoat.Tx) error {
					b, err := tx.CreateBucketIfNotExists(fmt.Append(nil, w, i/7%3))
					for n := range 1 + i*13%60 {
						err = errors.Join(err, b.Put(fmt.Append(nil, i*n%40), []byte(strings.Repeat("v", 9*n))))
					}
					if i%11 == 0 {
						err = errors.Join(err, tx.DeleteBucket(fmt.Append(nil, w, i/7%3)))
					}
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	checks := 0
	for db.Stats().Merges < 20 || checks < 20 {
		ok(t, db.Check(t.Context()))
		ok(t, db.CheckQuick(t.Context()))
		checks++
	}
	close(done)
	writers.Wait()
	ok(t, db.Close())
	t.Logf("%d checks beside writers", checks)
}

// TestCheck_besideClose closes the database during checks and before them.
func TestCheck_besideClose(t *testing.T) {
	for range 20 {
		db := variedDB(t, memfs.New())
		var checks sync.WaitGroup
		for range 2 {
			checks.Go(func() {
				for {
					if err := db.Check(context.Background()); errors.Is(err, stoat.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		ok(t, db.Close())
		checks.Wait()
	}
}
