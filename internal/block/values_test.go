package block

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// values are the values of one block under test.
type values struct {
	name string
	all  [][]byte
	wins bool // compressing them saves enough
}

func valueShapes(rng *rand.Rand) []values {
	random := func(n int) []byte {
		p := make([]byte, n)
		rng.Read(p)
		return p
	}
	of := func(name string, n int, wins bool, value func(i int) []byte) values {
		all := make([][]byte, n)
		for i := range all {
			all[i] = value(i)
		}
		return values{name, all, wins}
	}
	blob := random(1000)
	return []values{
		of("one, empty", 1, false, func(int) []byte { return []byte{} }),
		of("all empty", 512, false, func(int) []byte { return []byte{} }),
		of("eight bytes", 512, false, func(int) []byte { return random(8) }),
		of("counters", 512, true, func(i int) []byte {
			return binary.LittleEndian.AppendUint64(nil, uint64(i))
		}),
		of("messages", 82, true, func(int) []byte { return message(rng) }),
		of("zeros", 10, true, func(int) []byte { return make([]byte, 3000) }),
		of("random", 30, false, func(int) []byte { return random(1000) }),
		of("the same random", 30, true, func(int) []byte { return blob }),
		of("spread below 256", 100, false, func(i int) []byte { return random(100 + i) }),
		of("spread below 65,536", 10, false, func(i int) []byte { return random(300 * i) }),
		of("spread above", 2, true, func(i int) []byte { return make([]byte, 1+i*100_000) }),
		of("large", 1, true, func(i int) []byte { return bytes.Repeat([]byte("ten bytes."), 100_000) }),
		of("nearly random", 1, false, func(i int) []byte { // 5 % could be saved: not enough
			return append(random(30_000), make([]byte, 1500)...)
		}),
	}
}

// message returns about 397 bytes of JSON, half of it random.
func message(rng *rand.Rand) []byte {
	random := func(n int) string {
		p := make([]byte, n)
		rng.Read(p)
		return base64.StdEncoding.EncodeToString(p)
	}
	return fmt.Appendf(nil, "{\n\t\"previous\": \"%%%s.sha256\",\n\t\"author\": \"@%s.ed25519\",\n\t"+
		"\"sequence\": %d,\n\t\"timestamp\": %d,\n\t\"hash\": \"sha256\",\n\t\"content\": {\n\t\t"+
		"\"type\": \"post\",\n\t\t\"text\": \"%s\"\n\t}\n}",
		random(32), random(32), rng.Intn(10000), rng.Uint64(), random(100))
}

func newCompressor(t testing.TB) *Compressor {
	t.Helper()
	c, err := NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fillValues returns a builder with the values under one-byte or two-byte keys.
func fillValues(all [][]byte) *Builder {
	keys := make([][]byte, len(all))
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint16(nil, uint16(i))
	}
	return fill(keys, func(i int) []byte { return all[i] })
}

func TestParseValues_returnsWhatWasAdded(t *testing.T) {
	const seed = 1
	d := new(Decompressor)
	for _, c := range []*Compressor{nil, newCompressor(t)} {
		for _, v := range valueShapes(rand.New(rand.NewSource(seed))) {
			p, compressed := fillValues(v.all).AppendValues([]byte("before"), c)
			if compressed != (v.wins && c != nil) {
				t.Errorf("%s: compressed is %v", v.name, compressed)
			}
			column, decoded, err := ParseValues(p[len("before"):], len(v.all), d)
			if err != nil || decoded != compressed {
				t.Errorf("%s: decoded is %v, error %v", v.name, decoded, err)
				continue
			}
			for i, want := range v.all {
				if got := column.At(i); got == nil || !bytes.Equal(got, want) {
					t.Errorf("%s: value %d is %.20x, want %.20x, seed %d", v.name, i, got, want, seed)
				}
			}
		}
	}
}

func TestParseValues_doesNotCopyRawValues(t *testing.T) {
	p, _ := fillValues([][]byte{[]byte("first"), []byte("second")}).AppendValues(nil, nil)
	column, _, err := ParseValues(p, 2, new(Decompressor))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(p, []byte("second"))
	if second := column.At(1); &second[0] != &p[at] || cap(second) != len("second") {
		t.Error("value does not alias the block, or could be appended to")
	}
}

func TestParseValues_refusesEveryFlippedByte(t *testing.T) {
	d, c := new(Decompressor), newCompressor(t)
	for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
		p, _ := fillValues(v.all).AppendValues(nil, c)
		for at := range min(len(p), 500) {
			p[at] ^= 0x10
			if _, _, err := ParseValues(p, len(v.all), d); err == nil {
				t.Fatalf("%s: flipping byte %d goes unnoticed", v.name, at)
			}
			p[at] ^= 0x10
		}
	}
}

func TestParseValues_refusesLies(t *testing.T) {
	d := new(Decompressor)
	raw, _ := fillValues([][]byte{[]byte("ab"), []byte("abcd")}).AppendValues(nil, nil)
	same, _ := fillValues([][]byte{[]byte("ab"), []byte("cd")}).AppendValues(nil, nil)
	zipped, _ := fillValues([][]byte{make([]byte, 500)}).AppendValues(nil, newCompressor(t))
	for _, c := range []struct {
		name  string
		p     []byte
		count int
		at    int
		b     byte
	}{
		{"reserved codec", raw, 2, 0, 2},
		{"not zstd", raw, 2, 0, codecZstd},
		{"width of 3", raw, 2, 1, 3},
		{"other count", raw, 2, 2, 1},
		{"huge size", raw, 2, 7, 0x7F},
		{"negative size", raw, 2, 7, 0xFF},
		{"longer values", raw, 2, 8, 3},
		{"huge values", raw, 2, 11, 0xFF},
		{"longer value", raw, 2, valueHeaderBytes, 1},
		{"longer values of one size", same, 2, 8, 3},
		{"huge values of one size", same, 2, 11, 0x80},
		{"larger than decoded", zipped, 1, 4, 0xFF},
	} {
		p := bytes.Clone(c.p)
		p[c.at] = c.b
		if _, _, err := ParseValues(reseal(p), c.count, d); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
}

func TestParseValues_allocatesNoMoreThanZstdCanHold(t *testing.T) {
	p, _ := fillValues([][]byte{make([]byte, 500)}).AppendValues(nil, newCompressor(t))
	binary.LittleEndian.PutUint32(p[4:], 1<<30)
	binary.LittleEndian.PutUint32(p[8:], 1<<30)
	p, d := reseal(p), new(Decompressor)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, _, err := ParseValues(p, 1, d); err == nil {
				b.Error("no error")
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("%d bytes allocated for a block of %d", allocated, len(p))
	}
}

func FuzzParseValues(f *testing.F) {
	for _, c := range []*Compressor{nil, newCompressor(f)} {
		for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
			if p, _ := fillValues(v.all).AppendValues(nil, c); len(p) < 5000 {
				f.Add(p, len(v.all))
			}
		}
	}
	d := new(Decompressor)
	f.Fuzz(func(t *testing.T, p []byte, count int) {
		column, _, err := ParseValues(reseal(p), count, d)
		if err != nil {
			return
		}
		total := 0
		for i := range count {
			total += len(column.At(i))
		}
		if total != column.DataBytes() {
			t.Fatalf("values have %d bytes of %d", total, column.DataBytes())
		}
	})
}

func BenchmarkAppendValues(b *testing.B) {
	for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
		if v.name != "messages" && v.name != "random" {
			continue
		}
		builder, c := fillValues(v.all), newCompressor(b)
		for name, c := range map[string]*Compressor{"raw": nil, "zstd": c} {
			b.Run(v.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(builder.ValueBytes()))
				var p []byte
				for b.Loop() {
					p, _ = builder.AppendValues(p[:0], c)
				}
			})
		}
	}
}

func BenchmarkParseValues(b *testing.B) {
	rng := rand.New(rand.NewSource(1))
	for _, size := range []int{16 << 10, 32 << 10, 64 << 10} {
		builder := fillValues(nil)
		for i := 0; builder.ValueBytes() < size-400; i++ {
			builder.Add(binary.BigEndian.AppendUint16(nil, uint16(i)),
				keyspace.Entry{Kind: keyspace.KindPut, Value: message(rng)})
		}
		raw, _ := builder.AppendValues(nil, nil)
		zipped, _ := builder.AppendValues(nil, newCompressor(b))
		d := new(Decompressor)
		for name, p := range map[string][]byte{"raw": raw, "zstd": zipped} {
			b.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(builder.ValueBytes()))
				for b.Loop() {
					if _, _, err := ParseValues(p, builder.Len(), d); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
