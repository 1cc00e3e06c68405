package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// config returns the configuration of a session of one replica.
func config(m *memory) *Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions++
	return &Config{Spaces: []Space{m}, Once: true, Number: m.sessions, Random: rand.Reader}
}

// run has a session between two sides.
func run(t testing.TB, a, b *Config, x, y io.ReadWriteCloser) (here, there error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- New(b).Run(ctx, y) }()
	here = New(a).Run(ctx, x)
	return here, <-done
}

// meet has a session that must end well.
func meet(t testing.TB, a, b *memory) {
	t.Helper()
	x, y := net.Pipe()
	if here, there := run(t, config(a), config(b), x, y); here != nil || there != nil {
		t.Fatalf("here: %v\nthere: %v", here, there)
	}
}

// equal fails the test unless replicas have the same entries.
func equal(t testing.TB, all ...*memory) {
	t.Helper()
	for _, m := range all[1:] {
		if !maps.Equal(all[0].contents(), m.contents()) {
			t.Fatal("replicas differ")
		}
	}
}

func TestSession_bringsReplicasTogether(t *testing.T) {
	a, b, c := newMemory(1, 1), newMemory(1, 2), newMemory(1, 3)
	for i := range 20 {
		a.write(fmt.Sprint("a", i))
		c.write(strings.Repeat("c", 1+i*i*300)) // runs of several frames
		if i%3 == 0 {
			meet(t, a, b)
		}
		if i%4 == 0 {
			meet(t, c, b)
		}
		b.forgets = i%2 == 0
	}
	meet(t, a, b)
	meet(t, b, c)
	meet(t, a, b)
	equal(t, a, b, c)
}

// Nobody gets a log twice, or again.
func TestSession_sendsNothingTwice(t *testing.T) {
	a, b := newMemory(1, 1), newMemory(1, 2)
	for i := range 100 {
		a.write(fmt.Sprint(i))
	}
	meet(t, a, b)
	before := b.applied
	meet(t, a, b)
	meet(t, b, a)
	if b.applied != before {
		t.Errorf("%d runs were applied again", b.applied-before)
	}
}

// A page of heads is a part of what there may be.
func TestSession_ofManyLogs(t *testing.T) {
	a, b := newMemory(1, 1), newMemory(1, 2)
	n := 2*headsMax + 7
	if testing.Short() {
		n = headsMax + 7
	}
	for i := range n {
		a.addLog(9, i, 0)
	}
	meet(t, b, a)
	equal(t, a, b)
}

// pair is a session that lasts.
type pair struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func live(t testing.TB, a, b *memory) *pair {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pair{cancel: cancel}
	x, y := net.Pipe()
	for m, conn := range map[*memory]net.Conn{a: x, b: y} {
		c := config(m)
		c.Once = false
		p.ended.Go(func() {
			if err := New(c).Run(ctx, conn); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	return p
}

func (p *pair) end() {
	p.cancel()
	p.ended.Wait()
}

// await returns when two replicas have the same.
func await(t testing.TB, a, b *memory) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		changed := []<-chan struct{}{a.Changed(), b.Changed()}
		if maps.Equal(a.contents(), b.contents()) {
			return
		}
		select {
		case <-changed[0]:
		case <-changed[1]:
		case <-timeout:
			t.Fatal("replicas differ")
		}
	}
}

// What one side writes reaches the other without being asked for, also if the chronicle of what
// arrived is lost.
func TestSession_lasts(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		a, b, c := newMemory(1, 1), newMemory(1, 2), newMemory(1, 3)
		b.forgets = forgets
		first, second := live(t, a, b), live(t, b, c)
		for i := range 50 {
			a.write(fmt.Sprint("a", i))
			if i%10 == 0 {
				await(t, a, c)
			}
			c.write(fmt.Sprint("c", i))
		}
		await(t, a, c)
		await(t, a, b)
		first.end()
		second.end()
	}
}

// breaking is a connection that breaks after some bytes were written to it.
type breaking struct {
	net.Conn
	left int
}

func (c *breaking) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	written, err := c.Conn.Write(p[:n])
	if c.left -= written; err == nil && n < len(p) {
		_ = c.Conn.Close()
		err = errors.New("the connection broke")
	}
	return written, err
}

// The connection may break at every byte of either direction: the next session completes what the
// first one began.
func TestSession_cutAtEveryByte(t *testing.T) {
	for side := range 2 {
		for n := 0; ; n++ {
			a, b := newMemory(1, 1), newMemory(1, 2)
			for i := range 7 {
				a.write(fmt.Sprint("a", i))
				b.write(fmt.Sprint("b", i))
			}
			x, y := net.Pipe()
			broken := &breaking{[]net.Conn{x, y}[side], n}
			ends := []io.ReadWriteCloser{x, y}
			ends[side] = broken
			_, _ = run(t, config(a), config(b), ends[0], ends[1])
			a.write("more")
			meet(t, a, b)
			equal(t, a, b)
			if broken.left > 0 {
				break // it came to its end
			}
		}
	}
}

// A replica that was put back to an earlier state has another digest: its peers compare heads.
func TestSession_tokenOfAnotherPastIsWorthNothing(t *testing.T) {
	a, b := newMemory(1, 1), newMemory(1, 2)
	meet(t, a, b)
	token := b.tokens[a.name]
	if _, ok, _ := a.Resume(token); !ok || token.Batch == 0 {
		t.Fatalf("the token %v is not known", token)
	}
	other := newMemory(1, 3)
	other.name = a.name
	for range token.Batch {
		other.write("x")
		_ = other.Seal()
	}
	if _, ok, _ := other.Resume(token); ok {
		t.Error("it is valid elsewhere")
	}
	meet(t, other, b)
	equal(t, other, b)
}

// Whatever is written together, the handshake is never packed, and everything else may be.
func TestPack_keepsFrames(t *testing.T) {
	var all []byte
	for k, p := range samples() {
		if k == frameHello || k == frameAuth {
			all = append(appendFrame(nil, k, p), all...)
			continue
		}
		all = appendFrame(all, k, bytes.Repeat(p, 100))
	}
	for range 50 {
		all = appendFrame(all, framePart, make([]byte, FrameMax))
		noise := make([]byte, FrameMax)
		_, _ = rand.Read(noise)
		all = appendFrame(all, framePart, noise)
	}
	var pack packer
	packed, err := pack.pack(nil, all)
	if err != nil || len(packed) > len(all)*2/3 {
		t.Fatalf("%d bytes of %d, %v", len(packed), len(all), err)
	}
	var got []byte
	for rest := packed; len(rest) > 0; {
		k, p, after, err := cutFrame(rest)
		if err != nil {
			t.Fatal(err)
		}
		if rest = after; k != framePacked {
			got = appendFrame(got, k, p)
			continue
		}
		z, _ := decoder()
		frames, err := z.DecodeAll(p, make([]byte, 0, unpackedMax))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, frames...)
	}
	if !bytes.Equal(got, all) || kind(packed[0]) > frameAuth {
		t.Error("frames are lost, or the handshake is packed")
	}
}

// Many small compressed frames in one packed frame cost no more memory than large ones.
func TestUnpack_takesMemoryOnceForManySmallFrames(t *testing.T) {
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	one := z.EncodeAll(make([]byte, 8<<10), nil)
	p := bytes.Repeat(one, unpackedMax/(8<<10))
	s := &Session{}
	refused := func(p []byte) { // behind the decoder: what is in it is no frame
		t.Helper()
		if err := s.unpack(p); err == nil || strings.Contains(err.Error(), "a packed frame") {
			t.Errorf("got %v", err)
		}
	}
	refused(one) // makes the decoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(p)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*unpackedMax {
		t.Errorf("unpacking %d bytes takes %d", len(p), n)
	}
}
