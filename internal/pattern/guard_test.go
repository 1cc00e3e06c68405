//go:build linux || darwin

package pattern

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns memory of size bytes. Access to the byte before it or after it is a fault,
// depending on the side.
func guarded(tb testing.TB, side string, size int) []byte {
	tb.Helper()
	page := unix.Getpagesize()
	inner := (size + page - 1) / page * page
	p, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(p) })
	for _, at := range []int{0, page + inner} {
		if err := unix.Mprotect(p[at:at+page], unix.PROT_NONE); err != nil {
			tb.Fatal(err)
		}
	}
	if side == "before" {
		return p[page : page+size : page+size]
	}
	return p[page+inner-size : page+inner : page+inner]
}

// moved returns a copy of s in guarded memory.
func moved[T any](tb testing.TB, side string, s []T) []T {
	tb.Helper()
	if len(s) == 0 {
		return s
	}
	of := reflect.TypeFor[T]()
	p := guarded(tb, side, len(s)*int(of.Size()))
	at := reflect.ValueOf(&p[0]).UnsafePointer()
	again := reflect.SliceAt(of, at, len(s)).Interface().([]T)
	copy(again, s)
	return again
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

func TestDecode_staysWithinTheDictionary(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := anyDictionary(t, r)
		for _, side := range []string{"before", "after"} {
			d.lengths, d.table = moved(t, side, d.lengths), moved(t, side, d.table)
			d.heap, d.bases = moved(t, side, d.heap), moved(t, side, d.bases)
			d.steps = moved(t, side, d.steps)
			for range 100 {
				encoded := randomTokens(r, d, 1+r.IntN(6))
				encoded = encoded[:1+r.IntN(len(encoded))]
				encoded[r.IntN(len(encoded))] ^= 1 << r.IntN(8)
				checkTwins(t, d, encoded, r.IntN(3000))
			}
		}
	}
}

// Encoded values lie in memory maps. If the disk fails there, package vfs recovers from the fault.
func TestDecode_recoversFromAFault(t *testing.T) {
	const seed = 1
	b := newBuilder()
	b.add([]op{{kind: kindBase64, n: 134}, b.newPhrase([]byte("="))}, 1)
	d, err := b.dictionary()
	if err != nil {
		t.Fatal(err)
	}
	page := unix.Getpagesize()
	p := guarded(t, "after", 3*page)
	encoded := randomTokens(rand.New(rand.NewPCG(seed, 0)), d, page/20)
	if copy(p, encoded) < len(p) {
		t.Fatalf("seed %d: %d bytes are encoded, want %d", seed, len(encoded), len(p))
	}
	p[len(p)-1] = 1
	if err := unix.Mprotect(p[page:2*page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault := recover()
		runtime.GC() // looks through the stack, which has the decoder's frame still
		if _, ok := fault.(interface{ Addr() uintptr }); !ok {
			t.Errorf("recovered %v, want a fault", fault)
		}
	}()
	_, err = d.Decode(make([]byte, 0, 1<<20), p)
	t.Errorf("Decode returned %v, want a fault", err)
}
