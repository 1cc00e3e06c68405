package remote

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// delay is how long a server takes to answer, besides what it takes itself.
type delay struct {
	name     string
	p50, p99 time.Duration // of a lognormal distribution; equal: always so long
}

// delays returns the delays of the suite, which are the states of its rows.
func delays() []delay {
	return []delay{
		{"20ms", 20 * time.Millisecond, 20 * time.Millisecond},
		{"s3", 28 * time.Millisecond, 70 * time.Millisecond}, // published for small objects in S3
		{"100ms", 100 * time.Millisecond, 100 * time.Millisecond},
	}
}

// delayNames returns the names of the delays.
func delayNames() (names []string) {
	for _, d := range delays() {
		names = append(names, d.name)
	}
	return names
}

// clock draws delays. It is safe for concurrent use.
type clock struct {
	mu     sync.Mutex
	random *rand.Rand
	delay  delay
}

func newClock(seed uint64) *clock {
	return &clock{random: rand.New(rand.NewPCG(seed, 1))}
}

func (c *clock) set(d delay) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
}

// draw returns the delay of a request.
func (c *clock) draw() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delay.p99 <= c.delay.p50 {
		return c.delay.p50
	}
	const z99 = 2.326 // of the standard normal distribution
	sigma := math.Log(float64(c.delay.p99)/float64(c.delay.p50)) / z99
	return time.Duration(float64(c.delay.p50) * math.Exp(sigma*c.random.NormFloat64()))
}

// link is a network that carries so many bytes a second, for all connections together. Safe for
// concurrent use.
type link struct {
	mu   sync.Mutex
	rate float64 // bytes a second; 0: any number
	free time.Time
}

func (l *link) set(rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = rate
}

// carry returns when bytes have gone through the link.
func (l *link) carry(bytes int) {
	l.mu.Lock()
	if l.rate == 0 {
		l.mu.Unlock()
		return
	}
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / l.rate * 1e9))
	wait := l.free.Sub(now)
	l.mu.Unlock()
	time.Sleep(wait)
}
