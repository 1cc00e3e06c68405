package filter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/FastFilter/xorfilter"
)

func TestHash_isTheOneThatTheFormatDescribes(t *testing.T) {
	const file = "../../docs/format.md"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| bytes | hash |\n| ---: | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	key, rows := firstBytes(), 0
	for row := range strings.Lines(table) {
		var n int
		var want uint64
		if _, err := fmt.Sscanf(row, "| %d | `%x` |", &n, &want); err != nil {
			t.Fatalf("%s: %q: %v", file, row, err)
		}
		if got := Hash(key[:n]); got != want {
			t.Errorf("Hash of %d bytes = %016x, but %s says %016x", n, got, file, want)
		}
		rows++
	}
	if rows == 0 {
		t.Errorf("%s has no table of hashes", file)
	}
}

// firstBytes returns the bytes 0, 1, 2, ….
func firstBytes() []byte {
	p := make([]byte, 200)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}

// Hashes are on disk, so these must never change. The keys are prefixes of the bytes 0, 1, 2, ….
func TestHash_isStable(t *testing.T) {
	key := firstBytes()
	for _, want := range []struct {
		length int
		hash   uint64
	}{
		{0, 0x42bc986dc5eec4d3},
		{1, 0x22a2d5db3856770f},
		{2, 0x0d5ca7737b2b2d14},
		{3, 0x99270162f23e47b5},
		{4, 0xa33311108b555f99},
		{7, 0x4bb3c73f2054311c},
		{8, 0x47a9b311858f667f},
		{9, 0x4caa9cdc0445dc45},
		{16, 0x621a58f11484d988},
		{17, 0xad4894b34ed93095},
		{32, 0x8d6cd0bec59db5eb},
		{33, 0x52f470fdd333d135},
		{48, 0xa0945cf55d2edc0e},
		{49, 0x3c4bb9e1ccb366d3},
		{96, 0xdf127c89875ce87f},
		{97, 0xc03b4e0678b7920c},
		{200, 0xea09670081da1ab1},
	} {
		if got := Hash(key[:want.length]); got != want.hash {
			t.Errorf("Hash of %d bytes = %#016x, want %#016x", want.length, got, want.hash)
		}
	}
}

func TestHash_changesHalfItsBitsWithOneOfTheKey(t *testing.T) {
	for _, length := range []int{1, 3, 4, 8, 9, 16, 17, 48, 49, 96, 100} {
		key := make([]byte, length)
		before, changed := Hash(key), 0
		for bit := range 8 * length {
			key[bit/8] ^= 1 << (bit % 8)
			for diff := before ^ Hash(key); diff != 0; diff &= diff - 1 {
				changed++
			}
			key[bit/8] ^= 1 << (bit % 8)
		}
		if mean := float64(changed) / float64(8*length); mean < 26 || mean > 38 {
			t.Errorf("%d bytes: one bit changes %.1f bits of 64", length, mean)
		}
	}
}

func TestHash_ofCountersIsDistinct(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range uint64(200_000) {
		seen[Hash(binary.BigEndian.AppendUint64([]byte{0x10}, i))] = true
	}
	if len(seen) != 200_000 {
		t.Errorf("%d distinct hashes of 200,000", len(seen))
	}
}

// build returns the filter of the hashes.
func build(t testing.TB, hashes []uint64) Filter {
	t.Helper()
	p, err := Append(nil, hashes)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestContains_findsAllAndRefusesNearlyAllOthers(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	for _, n := range []int{1, 2, 3, 10, 1000, 100_000} {
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = rng.Uint64()
		}
		f := build(t, hashes)
		for _, h := range hashes {
			if !f.Contains(h) {
				t.Fatalf("filter of %d lost %#x, seed %d", n, h, seed)
			}
		}
		const probes = 100_000
		passed := 0
		for range probes {
			if f.Contains(rng.Uint64()) {
				passed++
			}
		}
		if passed > probes/256*5/4 {
			t.Errorf("filter of %d passes %d of %d absent, seed %d", n, passed, probes, seed)
		}
	}
}

func TestContains_agreesWithTheLibrary(t *testing.T) {
	const seed = 2
	rng := rand.New(rand.NewSource(seed))
	hashes := make([]uint64, 5000)
	for i := range hashes {
		hashes[i] = rng.Uint64()
	}
	f := build(t, hashes)
	library, err := xorfilter.NewBinaryFuse[uint8](hashes)
	if err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		if h := rng.Uint64(); f.Contains(h) != library.Contains(h) {
			t.Fatalf("Contains(%#x) = %v, seed %d", h, f.Contains(h), seed)
		}
	}
}

func TestAppend_takesEqualHashes(t *testing.T) {
	for n := range 300 {
		hashes := make([]uint64, 2*n+2)
		for i := range hashes {
			hashes[i] = Hash([]byte{byte(i / 2), byte(i / 2 >> 8)})
		}
		want := append([]uint64(nil), hashes...)
		f := build(t, hashes)
		for _, h := range want {
			if !f.Contains(h) {
				t.Fatalf("filter of %d pairs lost %#x", n+1, h)
			}
		}
	}
	f := build(t, []uint64{7, 7, 7, 7, 7, 7, 7})
	if !f.Contains(7) {
		t.Error("filter of one hash seven times lost it")
	}
}

func TestAppend_refusesTheEmptySet(t *testing.T) {
	if _, err := Append(nil, nil); err == nil {
		t.Error("no error")
	}
}

func TestParse_refusesWhatDoesNotAddUp(t *testing.T) {
	p, err := Append(nil, []uint64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, b byte) []byte {
		q := bytes.Clone(p)
		q[at] = b
		return q
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "header only": p[:headerBytes], "one cell less": p[:len(p)-1],
		"one cell more": append(bytes.Clone(p), 0), "kind": change(0, 2),
		"segment bits": change(1, 30), "reserved": change(2, 1), "no segments": change(4, 0),
		"many segments": change(7, 0xFF),
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range []int{1, 2, 100} {
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = uint64(i) << 32
		}
		p, err := Append(nil, hashes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p, uint64(n))
		f.Add(p[:len(p)-1], uint64(n))
		f.Add(append([]byte{p[0], p[1] + 1}, p[2:]...), uint64(n))
	}
	f.Fuzz(func(t *testing.T, p []byte, hash uint64) {
		filter, err := Parse(p)
		if err != nil {
			return
		}
		for range 64 { // must stay within the cells, whatever the header says
			filter.Contains(hash)
			hash = mix(hash + 1)
		}
	})
}

func BenchmarkContains(b *testing.B) {
	hashes := make([]uint64, 100_000)
	for i := range hashes {
		hashes[i] = mix(uint64(i))
	}
	f := build(b, hashes)
	i, found := uint64(0), 0
	for b.Loop() {
		if f.Contains(mix(i)) {
			found++
		}
		i++
	}
}

func BenchmarkHash(b *testing.B) {
	key := []byte("\x10\x00\x00\x00\x00\x00\x01\x02\x03")
	b.SetBytes(int64(len(key)))
	for b.Loop() {
		Hash(key)
	}
}

func BenchmarkAppend(b *testing.B) {
	hashes := make([]uint64, 100_000)
	for i := range hashes {
		hashes[i] = mix(uint64(i))
	}
	for b.Loop() {
		if _, err := Append(nil, hashes); err != nil {
			b.Fatal(err)
		}
	}
}
