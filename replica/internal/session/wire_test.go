package session

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// line is one direction of a connection that takes half a round trip, without any real time: what
// is written carries the number of half trips that its writer had seen, and one more.
type line struct {
	mu     sync.Mutex
	filled sync.Cond
	chunks []sending
	closed bool
	bytes  map[kind]int // of the frames, by their types
	begun  []byte       // of a frame
	last   int          // half trips when something other than the end was last sent
}

type sending struct {
	halfTrips int
	p         []byte
}

// end is one end of such a connection.
type end struct {
	in, out *line
	mu      *sync.Mutex
	seen    int // half trips
}

// newWire returns the ends of a connection.
func newWire() (a, b *end) {
	there, back := &line{bytes: map[kind]int{}}, &line{bytes: map[kind]int{}}
	there.filled.L, back.filled.L = &there.mu, &back.mu
	return &end{in: back, out: there, mu: new(sync.Mutex)},
		&end{in: there, out: back, mu: new(sync.Mutex)}
}

func (e *end) Read(p []byte) (int, error) {
	l := e.in
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.chunks) == 0 && !l.closed {
		l.filled.Wait()
	}
	if len(l.chunks) == 0 {
		return 0, io.EOF
	}
	c := &l.chunks[0]
	e.mu.Lock()
	e.seen = max(e.seen, c.halfTrips)
	e.mu.Unlock()
	n := copy(p, c.p)
	if c.p = c.p[n:]; len(c.p) == 0 {
		l.chunks = l.chunks[1:]
	}
	return n, nil
}

func (e *end) Write(p []byte) (int, error) {
	e.mu.Lock()
	now := e.seen + 1
	e.mu.Unlock()
	l := e.out
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, io.ErrClosedPipe
	}
	l.chunks = append(l.chunks, sending{now, slices.Clone(p)})
	l.filled.Signal()
	return len(p), l.tally(append(l.begun, p...), now)
}

// tally counts frames, by their types.
func (l *line) tally(p []byte, now int) error {
	for len(p) > 0 {
		k, payload, rest, err := cutFrame(p)
		if errors.Is(err, errCutFrame) {
			break
		}
		if l.bytes[k] += len(p) - len(rest); k != frameBye {
			l.last = now
		}
		if k == framePacked {
			z, _ := decoder()
			frames, err := z.DecodeAll(payload, make([]byte, 0, unpackedMax))
			if err != nil {
				return err
			}
			for len(frames) > 0 {
				inner, _, after, _ := cutFrame(frames)
				l.bytes[packedIn+inner] += len(frames) - len(after)
				frames = after
			}
		}
		p = rest
	}
	l.begun = p
	return nil
}

func (e *end) Close() error {
	for _, l := range []*line{e.in, e.out} {
		l.mu.Lock()
		l.closed = true
		l.filled.Broadcast()
		l.mu.Unlock()
	}
	return nil
}

// packedIn is added to the types of frames in packed ones.
const packedIn = 128

// cost is what a session took, in both directions.
type cost struct {
	bytes map[kind]int // by types of frames; packedIn is added for frames in packed ones
	total int
	trips float64 // round trips
}

func (c *cost) String() string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(c.bytes)) {
		all = append(all, fmt.Sprintf("%d:%d", k, c.bytes[k]))
	}
	return fmt.Sprintf("%d B, %.1f round trips, by frame %s", c.total, c.trips,
		strings.Join(all, " "))
}

// measure has a session that must end well, and returns what it took.
func measure(t testing.TB, a, b *memory) *cost {
	t.Helper()
	return measureOf(t, config(a), config(b))
}

func measureOf(t testing.TB, a, b *Config) *cost {
	t.Helper()
	x, y := newWire()
	if here, there := run(t, a, b, x, y); here != nil || there != nil {
		t.Fatalf("here: %v\nthere: %v", here, there)
	}
	c := &cost{bytes: map[kind]int{}}
	for _, l := range []*line{x.out, y.out} {
		for k, n := range l.bytes {
			if c.bytes[k] += n; k < packedIn {
				c.total += n
			}
		}
		c.trips = max(c.trips, float64(l.last)/2)
	}
	return c
}

// A session of replicas that met before takes two round trips if nothing is new, and few bytes for
// each log that has changed besides its entries and their seal.
func TestSession_costsLittle(t *testing.T) {
	a, b := newMemory(1, 1), newMemory(1, 2)
	for i := range 300 {
		a.addLog(9, i, 1)
	}
	meet(t, a, b)
	again := measure(t, a, b)
	for range 50 { // a goroutine that runs late seems to have waited for what came meanwhile
		again.trips = min(again.trips, measure(t, a, b).trips)
	}
	t.Log("nothing new:", again)
	if again.total > 450 || again.trips > 2 {
		t.Errorf("nothing new: %s", again)
	}
	for _, k := range []int{1, 10, 100} {
		for i := range k {
			a.grow(i + 1)
		}
		before := b.applied
		c := measure(t, a, b)
		t.Log(k, "logs changed:", c)
		entries := k * (1 + len(grownText) + 64)
		if most := again.total + 200 + 24*k + entries; c.total > most {
			t.Errorf("%d logs changed, with entries and seals of %d B: %s", k, entries, c)
		}
		if got := measure(t, a, b); got.total != again.total || b.applied == before {
			t.Errorf("nothing new since: %s", got)
		}
	}
	equal(t, a, b)
}
