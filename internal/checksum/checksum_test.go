package checksum

import (
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestOf_isCRC32C(t *testing.T) {
	// The check value of CRC-32C, from its definition in RFC 3720, appendix B.4.
	if got := Of([]byte("123456789")); got != 0xE3069283 {
		t.Errorf("Of(123456789) = %08x, want e3069283", got)
	}
}

func TestExtend_continuesASum(t *testing.T) {
	if got := Extend(Of([]byte("1234")), []byte("56789")); got != Of([]byte("123456789")) {
		t.Errorf("Extend gives %08x", got)
	}
}

func TestExtend_differsBySeed(t *testing.T) {
	if Extend(1, []byte("x")) == Extend(2, []byte("x")) {
		t.Error("two seeds give one sum")
	}
}

func TestExtend_isWhatThePackageCRC32Computes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	p := make([]byte, 2*foldedMost+1000)
	_, _ = random.Read(p)
	check := func(sum uint32, p []byte) {
		t.Helper()
		if got, want := Extend(sum, p), crc32.Update(sum, castagnoli, p); got != want {
			t.Fatalf("%08x of %d bytes from %08x on, want %08x", got, len(p), sum, want)
		}
	}
	for n := range 2000 {
		at := n % 67
		check(0, p[at:at+n])
		check(uint32(random.Uint64()), p[at:at+n])
	}
	for _, n := range []int{1 << 16, foldedMost - 1, foldedMost, foldedMost + 1, len(p)} {
		check(uint32(random.Uint64()), p[:n])
	}
}

func BenchmarkOf(b *testing.B) {
	for _, n := range []int{100, 500, 2000, 14000, 1 << 20} {
		p := make([]byte, n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Of(p)
			}
		})
		b.Run(strconv.Itoa(n)+"/crc32", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				crc32.Update(0, castagnoli, p)
			}
		})
	}
}
