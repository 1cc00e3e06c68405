package block

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// largeText returns text that compresses, and its value block.
func largeText(t testing.TB, lines int) (text, p []byte) {
	t.Helper()
	for i := range lines {
		text = fmt.Appendf(text, "line %d of a text, %x\n", i, uint32(i)*scatter)
	}
	var b Builder
	b.Encode(Encoding{Compressor: newCompressor(t)})
	b.AddAlone([]byte("key"), keyspace.Entry{Kind: keyspace.KindPut, Value: text})
	p, codec, err := b.AppendValues(nil)
	if err != nil || codec != Zstd {
		t.Fatalf("text is stored as %v: %v", codec, err)
	}
	return text, p
}

func TestParseHead_decodesTheStartOfALargeValue(t *testing.T) {
	text, p := largeText(t, 200_000)
	d := new(Decompressor)
	for _, n := range []int{1, 16, 1000, 200 << 10, len(text) / streamShare} {
		h, ok := ParseHead(p, n, d)
		if !ok || h.Bytes != n || !bytes.Equal(h.At(0), text[:n]) {
			t.Errorf("%d bytes: %v, %.40q", n, ok, h.data)
		}
	}
	if _, ok := ParseHead(p, len(text)/2, d); ok {
		t.Error("half of a value is no small part")
	}
	if _, small := largeText(t, 100); small != nil {
		if _, ok := ParseHead(small, 16, d); ok {
			t.Error("a small value is decoded as a stream")
		}
	}
}

// The bytes after the head are verified but not decoded.
func TestParseHead_leavesTheRest(t *testing.T) {
	text, p := largeText(t, 200_000)
	d := new(Decompressor)
	damaged := bytes.Clone(p)
	clear(damaged[len(p)/2 : len(p)-1000])
	if _, ok := ParseHead(damaged, 16, d); ok {
		t.Error("a block is not verified")
	}
	content, err := verify(p)
	if err != nil {
		t.Fatal(err)
	}
	damaged = seal(damaged[:len(content)], 0)
	if _, err := ParseValues(damaged, 1, d); err == nil {
		t.Fatal("the value is not damaged")
	}
	if h, ok := ParseHead(damaged, 16, d); !ok || !bytes.Equal(h.At(0), text[:16]) {
		t.Errorf("the first bytes are %v, %q", ok, h.data)
	}
}

func TestParseHead_refusesWhatIsNoFrame(t *testing.T) {
	_, p := largeText(t, 200_000)
	d := new(Decompressor)
	for size := range valueHeaderBytes + 20 {
		if _, ok := ParseHead(p[:size], 16, d); ok {
			t.Errorf("%d bytes are a block", size)
		}
		if _, ok := ParseHead(seal(bytes.Clone(p[:size]), 0), 16, d); ok {
			t.Errorf("%d bytes, sealed, are a block", size)
		}
	}
	if _, ok := ParseHead(p, 16, d); !ok {
		t.Error("after what cannot be decoded, nothing can")
	}
}

func BenchmarkParseHead(b *testing.B) {
	_, p := largeText(b, 60_000)
	d := new(Decompressor)
	b.Run("head", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ParseHead(p, 16, d)
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseValues(p, 1, d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
