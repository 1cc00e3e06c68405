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
