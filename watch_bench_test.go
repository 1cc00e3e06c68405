package stoat_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// BenchmarkWatch commits keys while loops follow.
func BenchmarkWatch(b *testing.B) {
	for _, loops := range []int{0, 1, 10, 1000} {
		b.Run(fmt.Sprint("loops=", loops), func(b *testing.B) {
			db := openOn(b, memfs.New(), &stoat.Options{Sync: stoat.SyncNever})
			ctx, cancel := context.WithCancel(b.Context())
			var all sync.WaitGroup
			for range loops {
				from := db.Position()
				all.Go(func() { followOn(ctx, db, from) })
			}
			key, value := []byte("key 0000"), make([]byte, 100)
			b.ReportAllocs()
			for i := range b.N {
				key[4+i%4]++
				ok(b, db.Put(key, value))
			}
			b.StopTimer()
			cancel()
			all.Wait()
			ok(b, db.Close())
		})
	}
}

// followOn follows all changes until ctx ends, and leaves out those that it was too slow for.
func followOn(ctx context.Context, db *stoat.DB, from stoat.Position) {
	for ctx.Err() == nil {
		for c := range db.Watch(ctx, stoat.Range{}, from) {
			from = c.Position
		}
	}
}

// BenchmarkWatch_catchUp follows a bucket through 5,000 commits that are in the log.
func BenchmarkWatch_catchUp(b *testing.B) {
	db := openOn(b, memfs.New(), &stoat.Options{Sync: stoat.SyncNever})
	update(b, db, func(tx *stoat.Tx) { create(b, tx, "b") })
	from := db.Position()
	value := make([]byte, 100)
	for i := range 5_000 {
		update(b, db, func(tx *stoat.Tx) {
			ok(b, bucket(b, tx, "b").Put(fmt.Appendf(nil, "%08d", i), value))
		})
	}
	path, r := [][]byte{[]byte("b")}, stoat.Range{Limit: 5_000}
	for b.Loop() {
		for _, err := range db.WatchBucket(b.Context(), path, r, from) {
			ok(b, err)
		}
	}
	ok(b, db.Close())
}
