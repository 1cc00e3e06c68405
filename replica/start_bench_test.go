//go:build unix

package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stoatdb/stoat"
)

// processorTime returns what the process has used, in seconds: a start keeps several processors
// busy, and on a machine that does other things it says more than the clock.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// writtenItem returns an item whose text has words, as people write them: a compressor halves it.
func writtenItem(i int64, random *rand.Rand, vocabulary []string) *item {
	v := newItem(i)
	var text strings.Builder
	for text.Len() < len(v.Text) {
		text.WriteString(vocabulary[random.IntN(len(vocabulary))] + " ")
	}
	v.Text = text.String()[:len(v.Text)]
	v.Owner = fmt.Sprintf("owner %d", random.IntN(100))
	v.Status, v.Count = int32(random.IntN(10)), random.Int64N(1<<20)
	return v
}

// withWritten returns a replica on disk with so many items at a checkpoint, and nothing else.
func withWritten(b *testing.B, n int64) *peer {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 1000)
	for i := range vocabulary {
		word := make([]byte, 3+random.IntN(6))
		for j := range word {
			word[j] = 'a' + byte(random.IntN(26))
		}
		vocabulary[i] = string(word)
	}
	from, c := onDisk(b, nil, stoat.SyncNever)
	const batch = 1000
	for i := int64(0); i < n; i += batch {
		from.update(func(tx *stoat.Tx) error {
			for j := range int64(batch) {
				if err := c.Put(tx, writtenItem(i+j, random, vocabulary)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, from.space.Seal())
	must(b, from.checkpoint())
	must(b, from.space.Seal())
	must(b, from.space.Prune())
	return from
}

// BenchmarkSync_start is the first contact of a replica that has pruned and an empty one, over
// loopback, both durable.
func BenchmarkSync_start(b *testing.B) {
	for _, n := range []int64{100_000, 300_000, 1_000_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			from := withWritten(b, n)
			bytes, used := int64(0), 0.0
			for b.Loop() {
				b.StopTimer()
				to, _ := onDisk(b, from, stoat.SyncAlways)
				x, y := loopback(b)
				sent := &counted{ReadWriteCloser: x}
				before := processorTime(b)
				b.StartTimer()
				done := make(chan error, 1)
				go func() { done <- Sync(context.Background(), from.space, sent, once) }()
				here := Sync(context.Background(), to.space, y, once)
				if there := <-done; here != nil || there != nil {
					b.Fatal(here, there)
				}
				used += processorTime(b) - before
				bytes += sent.bytes.Load()
			}
			b.ReportMetric(float64(bytes)/float64(b.N)/1e6, "MB")
			b.ReportMetric(used/float64(b.N), "cpu-s/op")
		})
	}
}
