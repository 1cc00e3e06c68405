package stress

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// errCut is what an end of a connection returns that was cut.
var errCut = errors.New("the connection was cut")

// flaws says what a connection does to what is sent.
type flaws struct {
	cut     int     // bytes in either direction until it is cut; 0: never
	delays  float64 // how many of the writes are delayed
	repeats float64 // how many of the writes arrive twice
}

// end is one end of a connection with flaws. Use it as one.
type end struct {
	net.Conn
	other net.Conn
	flaws flaws

	mu   sync.Mutex
	rng  *rand.Rand
	left int
}

// connect returns both ends of a connection.
func connect(rng *rand.Rand, f flaws) (a, b net.Conn) {
	x, y := net.Pipe()
	if f == (flaws{}) {
		return x, y
	}
	return newEnd(rng, f, x, y), newEnd(rng, f, y, x)
}

func newEnd(rng *rand.Rand, f flaws, own, other net.Conn) *end {
	return &end{Conn: own, other: other, flaws: f, left: f.cut,
		rng: rand.New(rand.NewPCG(rng.Uint64(), 0))}
}

// Write implements [net.Conn].
func (e *end) Write(p []byte) (n int, err error) {
	e.mu.Lock()
	delayed, repeated := e.rng.Float64() < e.flaws.delays, e.rng.Float64() < e.flaws.repeats
	pause := time.Duration(e.rng.IntN(2000)) * time.Microsecond
	most := len(p)
	if e.flaws.cut > 0 {
		most = min(most, e.left)
		e.left -= most
	}
	e.mu.Unlock()
	if delayed {
		time.Sleep(pause)
	}
	if n, err = e.Conn.Write(p[:most]); err == nil && repeated {
		_, err = e.Conn.Write(p[:most])
	}
	if err == nil && n < len(p) {
		_, _ = e.Conn.Close(), e.other.Close()
		err = errCut
	}
	return n, err
}
