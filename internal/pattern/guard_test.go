//go:build linux || darwin

package pattern

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns memory of size bytes, at most a page. Access to the byte before it or after it is
// a fault, depending on the side.
func guarded(tb testing.TB, side string, size int) []byte {
	tb.Helper()
	page := unix.Getpagesize()
	p, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(p) })
	for _, at := range []int{0, 2 * page} {
		if err := unix.Mprotect(p[at:at+page], unix.PROT_NONE); err != nil {
			tb.Fatal(err)
		}
	}
	if side == "before" {
		return p[page : page+size : page+size]
	}
	return p[2*page-size : 2*page : 2*page]
}

func TestDecode_staysWithinItsBuffers(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	d := everything(t)
	for _, side := range []string{"before", "after"} {
		page := guarded(t, side, unix.Getpagesize())
		room := guarded(t, side, unix.Getpagesize())
		// within returns n bytes of p at the side that is guarded.
		within := func(p []byte, n int) []byte {
			if side == "before" {
				return p[:n:n]
			}
			return p[len(p)-n:]
		}
		for i := range 3000 {
			encoded := randomTokens(r, d, 1+r.IntN(6))
			if i%3 == 0 {
				encoded = encoded[:1+r.IntN(len(encoded))]
			}
			if len(encoded) > len(page) {
				continue
			}
			p := within(page, len(encoded))
			copy(p, encoded)
			want, err := d.Decode(make([]byte, 0, 20_000), encoded)
			size := r.IntN(len(room))
			if err == nil {
				size = min(len(want)+r.IntN(2)*r.IntN(50), len(room))
			}
			got, _ := d.Decode(within(room, size)[:0], p)
			if err == nil && len(want) <= size && !bytes.Equal(got, want) {
				t.Fatalf("seed %d, value %d: Decode = %q, want %q", seed, i, got, want)
			}
		}
	}
}
