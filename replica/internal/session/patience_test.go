package session

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowLink is an end of a connection that takes at once whatever is written, and carries some bytes
// a second.
type slowLink struct {
	*io.PipeReader
	queue  chan []byte
	mu     sync.Mutex
	closed bool
}

// slowLinks returns the ends of a connection.
func slowLinks(rate int) (x, y *slowLink) {
	fromX, toX := io.Pipe()
	fromY, toY := io.Pipe()
	return newSlowLink(fromX, toY, rate), newSlowLink(fromY, toX, rate)
}

// newSlowLink returns an end. What was written before it is closed arrives.
func newSlowLink(in *io.PipeReader, out *io.PipeWriter, rate int) *slowLink {
	l := &slowLink{PipeReader: in, queue: make(chan []byte, 1<<12)}
	go func() {
		for p := range l.queue {
			for part := range slices.Chunk(p, rate) {
				time.Sleep(time.Second * time.Duration(len(part)) / time.Duration(rate))
				_, _ = out.Write(part) // the other end may be closed
			}
		}
		_ = out.Close()
	}()
	return l
}

func (l *slowLink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, io.ErrClosedPipe
	}
	l.queue <- bytes.Clone(p)
	return len(p), nil
}

func (l *slowLink) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	return l.PipeReader.Close()
}

// packNow has what all sessions share made outside of bubbles.
func packNow(t *testing.T) {
	a := newMemory(1, 1)
	a.write(string(make([]byte, 2*packMin)))
	meet(t, a, newMemory(1, 2))
}

// A session that is for once comes to its end over a link that buffers all that both sides give,
// and takes hours for it, as long as it carries partMax in the patience.
func TestSession_forOnceOverASlowLinkThatBuffers(t *testing.T) {
	packNow(t)
	for _, both := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newMemory(1, 1), newMemory(1, 2)
			for range 60 {
				text := make([]byte, 20<<10)
				_, _ = rand.Read(text)
				a.write(string(text))
				if both {
					b.write(string(text))
				}
			}
			x, y := slowLinks(400)
			done := make(chan error, 1)
			began := time.Now()
			go func() { done <- New(config(b)).Run(t.Context(), y) }()
			here := New(config(a)).Run(t.Context(), x)
			there := <-done
			took := time.Since(began)
			if here != nil || there != nil {
				t.Fatalf("after %v, here: %v\nthere: %v", took, here, there)
			}
			if equal(t, a, b); took < 40*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A peer that has taken what there is credit for, and says nothing any more, does not hold a
// session that is for once for ever.
func TestSession_forOnceEndsWithASilentPeer(t *testing.T) {
	packNow(t)
	synctest.Test(t, func(t *testing.T) {
		victim := newMemory(1, 1)
		for range 100 {
			text := make([]byte, 20<<10)
			_, _ = rand.Read(text)
			victim.write(string(text))
		}
		if err := victim.Seal(); err != nil {
			t.Fatal(err)
		}
		x, y := net.Pipe()
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- New(config(victim)).Run(t.Context(), x) }()
		a := &attacker{t: t, conn: y, in: bufio.NewReader(y), m: newMemory(1, 66)}
		a.own.nonce[0] = 6
		a.greet()
		go a.drop()
		a.write(frameToken, (&reach{few: true}).append(nil))
		synctest.Wait()
		w := wants{answer: true, choices: []choice{{}}} // all of the log
		a.write(frameWant, w.append(nil))
		err := <-done
		if took := time.Since(began); err == nil || took < time.Hour || took > 2*time.Hour {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
