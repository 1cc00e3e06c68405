package keyspace

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestHead_ordersAsItsBytesDo(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func() []byte {
		p := make([]byte, rng.IntN(20))
		for i := range p {
			p[i] = byte(rng.IntN(3)) * 0x7F // with zeros, which pad, and equal beginnings
		}
		return p
	}
	start := func(p []byte) [8]byte { return [8]byte(append(bytes.Clone(p), make([]byte, 8)...)) }
	for range 20_000 {
		a, b := draw(), draw()
		x, y, order := Head(a), Head(b), bytes.Compare(a, b)
		if x < y && order >= 0 || x > y && order <= 0 || x == y && start(a) != start(b) {
			t.Fatalf("heads %x and %x of % x and % x", x, y, a, b)
		}
		n := Shared(a, b)
		if !bytes.Equal(a[:n], b[:n]) || n < min(len(a), len(b)) && a[n] == b[n] {
			t.Fatalf("% x and % x share %d bytes", a, b, n)
		}
	}
}
