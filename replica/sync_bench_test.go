package replica

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// loopback returns the two ends of a TCP connection.
func loopback(tb testing.TB) (a, b net.Conn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		b, err = l.Accept()
		done <- err
	}()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		err = <-done
	}
	if err != nil {
		tb.Fatal(err)
	}
	_ = l.Close()
	return a, b
}

// counted is a connection that counts what is written to it.
type counted struct {
	io.ReadWriteCloser
	bytes atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// onDisk returns a replica on disk: of a new space, or of the one of another.
func onDisk(b testing.TB, of *peer, mode stoat.SyncMode) (*peer, *record.Collection[item]) {
	b.Helper()
	db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: mode})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	p := &peer{t: b, db: db, now: noon, seed: [32]byte{3}}
	if of == nil {
		p.space, err = Create(db, "team", p.options())
	} else {
		p.seed[1] = 1
		p.space, err = Join(db, "team", of.space.ID(), p.options())
	}
	if err != nil {
		b.Fatal(err)
	}
	c, err := Collection[item](p.space, "items", nil)
	if err != nil {
		b.Fatal(err)
	}
	if of == nil {
		p.allow()
	}
	return p, c
}

// BenchmarkSync_first is the first contact of a replica with 100,000 records, each of an entry of
// its own, and an empty one, over loopback, both durable.
func BenchmarkSync_first(b *testing.B) {
	const n = 100_000
	from, c := onDisk(b, nil, stoat.SyncNever)
	for i := range int64(n) {
		from.update(func(tx *stoat.Tx) error { return c.Put(tx, newItem(i)) })
	}
	if err := from.space.Seal(); err != nil {
		b.Fatal(err)
	}
	bytes := int64(0)
	for b.Loop() {
		b.StopTimer()
		to, _ := onDisk(b, from, stoat.SyncAlways)
		x, y := loopback(b)
		sent := &counted{ReadWriteCloser: x}
		b.StartTimer()
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), from.space, sent, once) }()
		here := Sync(context.Background(), to.space, y, once)
		if there := <-done; here != nil || there != nil {
			b.Fatal(here, there)
		}
		bytes += sent.bytes.Load()
	}
	b.ReportMetric(float64(bytes)/float64(b.N)/1e6, "MB")
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkSync_again is a connection of two replicas that have the same.
func BenchmarkSync_again(b *testing.B) {
	from, c := onDisk(b, nil, stoat.SyncNever)
	to, _ := onDisk(b, from, stoat.SyncNever)
	from.update(func(tx *stoat.Tx) error { return c.Put(tx, newItem(1)) })
	bytes := int64(0)
	meet := func() {
		x, y := loopback(b)
		here, there := &counted{ReadWriteCloser: x}, &counted{ReadWriteCloser: y}
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), from.space, here, once) }()
		err := Sync(context.Background(), to.space, there, once)
		if other := <-done; err != nil || other != nil {
			b.Fatal(err, other)
		}
		bytes += here.bytes.Load() + there.bytes.Load()
	}
	meet()
	for bytes = 0; b.Loop(); {
		meet()
	}
	b.ReportMetric(float64(bytes)/float64(b.N), "B")
}

// BenchmarkSync_live is a commit on one side that becomes durable on the other.
func BenchmarkSync_live(b *testing.B) {
	from, c := onDisk(b, nil, stoat.SyncAlways)
	to, _ := onDisk(b, from, stoat.SyncAlways)
	x, y := loopback(b)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- Sync(ctx, from.space, x, nil) }()
	go func() { done <- Sync(ctx, to.space, y, nil) }()
	arrived := make(chan struct{}, 1)
	path := [][]byte{[]byte("items")}
	go func() {
		for range to.db.WatchBucket(ctx, path, stoat.Range{}, 0) {
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
		close(arrived)
	}()
	var times []time.Duration
	next := int64(0)
	for b.Loop() {
		next++
		start := time.Now()
		from.update(func(tx *stoat.Tx) error { return c.Put(tx, newItem(next)) })
		<-arrived // which is durable
		times = append(times, time.Since(start))
	}
	cancel()
	<-done
	<-done
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkSync_idle is what a session over TLS takes while nothing happens, on one side.
func BenchmarkSync_idle(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(sizeWhileIdle(b, 1000))/1024, "KiB/session")
	}
}

// sizeWhileIdle returns what a session over TLS takes while nothing happens, on one side, if so
// many are connected.
func sizeWhileIdle(t testing.TB, n int) int {
	t.Helper()
	server := newPeer(t, nil)
	client := newPeer(t, server)
	server.put(task{ID: 1})
	meet(t, server, client)
	v := server.serve()
	ctx, cancel := context.WithCancel(context.Background())
	done, settled := make(chan error, n), make(chan struct{}, n)
	before := memoryInUse()
	for range n {
		conn, err := Dial(ctx, v.addr, client.space.device, server.space.device.ID())
		must(t, err)
		quiet := false
		opts := &SyncOptions{OnStatus: func(s SyncStatus) {
			if !quiet && s.CaughtUp && s.Acknowledged {
				quiet = true
				settled <- struct{}{}
			}
		}}
		go func() { done <- Sync(ctx, client.space, conn, opts) }()
	}
	for range n {
		select {
		case <-settled:
		case err := <-done:
			t.Fatal(err)
		}
	}
	after := memoryInUse()
	cancel()
	for range n {
		<-done
		_ = v.next()
	}
	return (after - before) / n / 2
}

// memoryInUse returns the size of all stacks, and of what is reachable in the heap.
func memoryInUse() int {
	for range 4 { // a stack that was used shrinks by half each time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
