package engine

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// BenchmarkEvict removes 64 of 10,000 tables at a time, while commits go on, of which it reports
// the longest.
func BenchmarkEvict(b *testing.B) {
	const tables, most = 10_000, 64
	disk, o := memfs.New(), calm()
	o.Tuning.TableBytes, o.Tuning.BlockBytes, o.Tuning.MemtableBytes = 512, 256, 256<<20
	e := mustOpen(b, twoPlaces{disk, memfs.New()}, o)
	for i := range tables {
		value := make([]byte, 600)
		_, _ = rand.Read(value)
		ok(b, tryCommit(e, dataKey("%06d", i), value))
	}
	ok(b, e.Flush())
	var numbers []uint64
	for t := range e.Version().Tables() {
		numbers = append(numbers, t.Number)
	}
	if len(numbers) < tables/2 {
		b.Fatalf("there are %d tables", len(numbers))
	}
	ctx, stop := context.WithCancel(b.Context())
	var longest atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			_ = tryCommit(e, dataKey("key"), nil)
			longest.Store(max(longest.Load(), int64(time.Since(began))))
		}
	}()
	for i := 0; b.Loop(); i++ {
		at := i * most % (len(numbers) - most)
		_, _, err := e.Evict(numbers[at : at+most])
		ok(b, err)
	}
	stop()
	<-ended
	b.ReportMetric(float64(longest.Load())/1e3, "µs/longest-commit")
	b.ReportMetric(float64(len(numbers)), "tables")
}
