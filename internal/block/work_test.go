package block

import (
	"math/rand"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// workOf returns the work for a block of the values, and its codec.
func workOf(t *testing.T, e Encoding, values ...[]byte) (work int, codec Codec) {
	t.Helper()
	var b Builder
	b.Encode(e)
	for i, value := range values {
		b.Add([]byte{byte(i)}, keyspace.Entry{Kind: keyspace.KindPut, Value: value})
	}
	p, codec, err := b.AppendValues(nil)
	if err == nil {
		work, err = b.Work(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return work, codec
}

func TestBuilder_tellsHowMuchWorkABlockIs(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var values [][]byte
	for range 100 {
		values = append(values, message(rng))
	}
	compressor, err := NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Encoding{{}, {Compressor: compressor}, {Encoder: encoder(t)}} {
		few, codec := workOf(t, e, values[:50]...)
		many, _ := workOf(t, e, values...)
		switch {
		case codec == Raw && many != 0:
			t.Errorf("values as they are take %d ns", many)
		case codec != Raw && (few <= 0 || many < few*3/2 || many > few*3):
			t.Errorf("by %v, 50 values take %d ns, and 100 take %d", codec, few, many)
		}
	}
}

func TestZstdWork_countsWhatIsInAFrame(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	same, random, words := make([]byte, 300_000), make([]byte, 300_000), []byte(nil)
	rng.Read(random)
	for len(words) < 300_000 {
		words = append(words, message(rng)...)
	}
	work := make(map[string]int)
	for name, p := range map[string][]byte{"same": same, "random": random, "words": words} {
		frame := encoder.EncodeAll(p, nil)
		if work[name], err = zstdWork(frame, len(p)); err != nil {
			t.Fatal(err)
		}
		for n := range min(len(frame), 2000) {
			if _, err := zstdWork(frame[:n], len(p)); err == nil {
				t.Fatalf("%s: %d bytes of %d are a frame", name, n, len(frame))
			}
		}
	}
	if work["words"] < 2*work["same"] || work["words"] < 2*work["random"] {
		t.Errorf("the work is %v", work)
	}
}
