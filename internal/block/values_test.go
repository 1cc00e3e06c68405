package block

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/pattern"
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

// encoder returns an encoder whose dictionary knows messages.
func encoder(t testing.TB) *Encoder {
	t.Helper()
	rng := rand.New(rand.NewSource(7))
	samples := make([][]byte, 300)
	for i := range samples {
		samples[i] = message(rng)
	}
	words := pattern.Train(samples)
	if words == nil {
		t.Fatal("no dictionary for messages")
	}
	e, err := NewDictionary(9, 0, 0, words.Append(nil)).NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// encodings returns all the ways to store values.
func encodings(t testing.TB) map[Codec]Encoding {
	return map[Codec]Encoding{
		Raw: {}, Zstd: {Compressor: newCompressor(t)}, Pattern: {Encoder: encoder(t)},
	}
}

// fillValues returns a builder with the values under one-byte or two-byte keys.
func fillValues(all [][]byte, encoding Encoding) *Builder {
	b := new(Builder)
	b.Encode(encoding)
	for i, value := range all {
		b.Add(binary.BigEndian.AppendUint16(nil, uint16(i)),
			keyspace.Entry{Kind: keyspace.KindPut, Value: value})
	}
	return b
}

func appendValues(t testing.TB, dst []byte, b *Builder) ([]byte, Codec) {
	t.Helper()
	p, codec, err := b.AppendValues(dst)
	if err != nil {
		t.Fatal(err)
	}
	return p, codec
}

// block returns a block of values.
func valueBlock(t testing.TB, encoding Encoding, all ...[]byte) []byte {
	t.Helper()
	p, _ := appendValues(t, nil, fillValues(all, encoding))
	return p
}

// column returns all values of a block, decoded.
func column(t testing.TB, v Values, e *Encoder) Column {
	t.Helper()
	if v.Codec != Pattern {
		return v.Plain
	}
	all, err := v.Encoded.Decode(e.Dictionary, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestParseValues_returnsWhatWasAdded(t *testing.T) {
	const seed = 1
	d := new(Decompressor)
	for codec, encoding := range encodings(t) {
		for _, v := range valueShapes(rand.New(rand.NewSource(seed))) {
			p, got := appendValues(t, []byte("before"), fillValues(v.all, encoding))
			if codec == Zstd && (got == Zstd) != v.wins || codec != got && got != Raw {
				t.Errorf("%s: the codec is %v, not %v", v.name, got, codec)
			}
			values, err := ParseValues(p[len("before"):], len(v.all), d)
			if err != nil || values.Codec != got {
				t.Errorf("%s: codec %v, error %v", v.name, values.Codec, err)
				continue
			}
			all := column(t, values, encoding.Encoder)
			for i, want := range v.all {
				if got := all.At(i); got == nil || !bytes.Equal(got, want) {
					t.Errorf("%s: value %d is %.20x, want %.20x, seed %d", v.name, i, got, want, seed)
				}
			}
		}
	}
}

func TestEncoded_decodesAnyValueAlone(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	e := encoder(t)
	all := [][]byte{message(rng), {}, message(rng), []byte("pointer"), message(rng)}
	b := new(Builder)
	b.Encode(Encoding{Encoder: e})
	for i, value := range all {
		b.Add([]byte{byte(i)}, keyspace.Entry{Kind: keyspace.KindPut + keyspace.Kind(2*(i/3%2)*(1-i%3)),
			Value: value})
	}
	p, codec := appendValues(t, nil, b)
	values, err := ParseValues(p, len(all), nil)
	if codec != Pattern || err != nil {
		t.Fatal(codec, err)
	}
	for i, want := range all {
		entry := keyspace.Entry{Kind: KindAt(b.kinds, i)}
		values.Encoded.Entry(i, &entry)
		if entry.Kind == keyspace.KindPointer {
			if entry.Dictionary != 0 || string(entry.Value) != string(want) {
				t.Errorf("pointer %d is %+v", i, entry)
			}
			continue
		}
		got, err := e.Dictionary.Decode([]byte("before"), entry.Value, entry.Size())
		if entry.Dictionary != 9 || err != nil || string(got) != "before"+string(want) {
			t.Errorf("value %d is %q of dictionary %d, error %v", i, got, entry.Dictionary, err)
		}
	}
	if whole, err := values.Encoded.Decode(e.Dictionary, b.kinds); err != nil {
		t.Error(err)
	} else if string(whole.At(3)) != "pointer" || string(whole.At(4)) != string(all[4]) {
		t.Errorf("decoded as a whole, they end with %q, %q", whole.At(3), whole.At(4))
	}
}

func TestEncoded_readsOneValueWithoutTheRestOfTheBlock(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	e := encoder(t)
	all := [][]byte{message(rng), message(rng)[:50], message(rng)}
	p := valueBlock(t, Encoding{Encoder: e}, all...)
	values, err := ParseValues(p, len(all), nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := keyspace.Entry{Kind: keyspace.KindPut}
	values.Encoded.Entry(1, &entry)
	stored := bytes.Clone(entry.Value)
	clear(p)
	copy(entry.Value, stored)
	values.Encoded.Entry(1, &entry)
	got, err := e.Dictionary.Decode(nil, entry.Value, entry.Size())
	if err != nil || !bytes.Equal(got, all[1]) {
		t.Errorf("the value is %q, want %q, error %v", got, all[1], err)
	}
}

func TestBuilder_takesValuesThatAreEncoded(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	e, value := encoder(t), message(rng)
	entry := keyspace.Entry{
		Kind: keyspace.KindPut, Value: e.Append(nil, value), Dictionary: 9, Length: uint32(len(value)),
	}
	b := new(Builder)
	b.Encode(Encoding{Encoder: e})
	b.Add([]byte("key"), entry)
	if n := b.ValueBytes(); n != len(value) {
		t.Errorf("the builder has %d bytes of values, want %d", n, len(value))
	}
	p, _ := appendValues(t, nil, b)
	if want := valueBlock(t, Encoding{Encoder: e}, value); string(p) != string(want) {
		t.Errorf("the block is % x, want % x", p, want)
	}
}

func TestParseValues_doesNotCopyRawValues(t *testing.T) {
	p := valueBlock(t, Encoding{}, []byte("first"), []byte("second"))
	v, err := ParseValues(p, 2, new(Decompressor))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(p, []byte("second"))
	if second := v.Plain.At(1); &second[0] != &p[at] || cap(second) != len("second") {
		t.Error("value does not alias the block, or could be appended to")
	}
}

func TestParseValues_refusesEveryFlippedByte(t *testing.T) {
	d := new(Decompressor)
	for _, encoding := range encodings(t) {
		for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
			p := valueBlock(t, encoding, v.all...)
			for at := range min(len(p), 500) {
				p[at] ^= 0x10
				if _, err := ParseValues(p, len(v.all), d); err == nil {
					t.Fatalf("%s: flipping byte %d goes unnoticed", v.name, at)
				}
				p[at] ^= 0x10
			}
		}
	}
}

func TestParseValues_refusesLies(t *testing.T) {
	d := new(Decompressor)
	raw := valueBlock(t, Encoding{}, []byte("ab"), []byte("abcd"))
	same := valueBlock(t, Encoding{}, []byte("ab"), []byte("cd"))
	zipped := valueBlock(t, Encoding{Compressor: newCompressor(t)}, make([]byte, 500))
	m := message(rand.New(rand.NewSource(1)))
	encoded := valueBlock(t, Encoding{Encoder: encoder(t)}, m, m)
	for _, c := range []struct {
		name  string
		p     []byte
		count int
		at    int
		b     byte
	}{
		{"unknown codec", raw, 2, 0, 3},
		{"not zstd", raw, 2, 0, byte(Zstd)},
		{"not encoded", raw, 2, 0, byte(Pattern)},
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
		{"no dictionary", encoded, 2, valueHeaderBytes, 0},
		{"other size", encoded, 2, 4, 1},
		{"other encoded count", encoded, 2, valueHeaderBytes + dictionaryBytes + 1, 1},
		{"other encoded size", encoded, 2, valueHeaderBytes + dictionaryBytes + 3, 1},
		{"longer encoded values", encoded, 2, valueHeaderBytes + dictionaryBytes + 7, 0xFF},
	} {
		p := bytes.Clone(c.p)
		p[c.at] = c.b
		if _, err := ParseValues(reseal(p), c.count, d); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
}

// allocated returns how many bytes a call takes.
func allocated(call func()) int64 {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			call()
		}
	}).AllocedBytesPerOp()
}

func TestParseValues_allocatesNoMoreThanZstdCanHold(t *testing.T) {
	p := valueBlock(t, Encoding{Compressor: newCompressor(t)}, make([]byte, 500))
	binary.LittleEndian.PutUint32(p[4:], 1<<30)
	binary.LittleEndian.PutUint32(p[8:], 1<<30)
	p, d := reseal(p), new(Decompressor)
	n := allocated(func() {
		if _, err := ParseValues(p, 1, d); err == nil {
			t.Error("no error")
		}
	})
	if n > 1<<20 {
		t.Errorf("%d bytes allocated for a block of %d", n, len(p))
	}
}

func TestEncoded_allocatesNoMoreThanItsValuesTake(t *testing.T) {
	e := encoder(t)
	p := valueBlock(t, Encoding{Encoder: e}, message(rand.New(rand.NewSource(1))))
	binary.LittleEndian.PutUint32(p[4:], 1<<30)
	binary.LittleEndian.PutUint32(p[8:], 1<<30)
	v, err := ParseValues(reseal(p), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := allocated(func() {
		if _, err := v.Encoded.Decode(e.Dictionary, nil); err == nil {
			t.Error("no error when decoded as a whole")
		}
		if _, err := e.Dictionary.Decode(nil, v.Encoded.At(0), 1<<30); err == nil {
			t.Error("no error when decoded alone")
		}
	})
	if n > 1<<20 {
		t.Errorf("%d bytes allocated for a block of %d", n, len(p))
	}
}

func FuzzParseValues(f *testing.F) {
	e := encoder(f)
	for _, encoding := range []Encoding{{}, {Compressor: newCompressor(f)}, {Encoder: e}} {
		for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
			if p := valueBlock(f, encoding, v.all...); len(p) < 5000 {
				f.Add(p, len(v.all))
			}
		}
	}
	d := new(Decompressor)
	f.Fuzz(func(t *testing.T, p []byte, count int) {
		v, err := ParseValues(reseal(p), count, d)
		if err != nil {
			return
		}
		all := v.Plain
		if v.Codec == Pattern {
			if all, err = v.Encoded.Decode(e.Dictionary, nil); err != nil {
				return
			}
		}
		total := 0
		for i := range count {
			total += len(all.At(i))
		}
		if total != all.DataBytes() {
			t.Fatalf("values have %d bytes of %d", total, all.DataBytes())
		}
	})
}

func TestDictionary_thatIsDamagedIsAnError(t *testing.T) {
	d := NewDictionary(5, 0, 0, []byte("damaged"))
	if _, err := d.NewEncoder(); err == nil || !strings.Contains(err.Error(), "dictionary 000005") {
		t.Errorf("NewEncoder returns %v", err)
	}
	if _, err := d.Decode(nil, []byte("x"), 1); err == nil {
		t.Error("Decode returns no error")
	}
}

func BenchmarkAppendValues(b *testing.B) {
	for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
		if v.name != "messages" && v.name != "random" {
			continue
		}
		for codec, encoding := range encodings(b) {
			b.Run(fmt.Sprintf("%s/%v", v.name, codec), func(b *testing.B) {
				builder := new(Builder)
				builder.Encode(encoding)
				var p []byte
				for b.Loop() {
					builder.Reset()
					for i, value := range v.all {
						builder.Add([]byte{byte(i)},
							keyspace.Entry{Kind: keyspace.KindPut, Value: value})
					}
					p, _ = appendValues(b, p[:0], builder)
				}
				b.SetBytes(int64(builder.ValueBytes()))
			})
		}
	}
}

func BenchmarkParseValues(b *testing.B) {
	rng := rand.New(rand.NewSource(1))
	all := make([][]byte, 82)
	for i := range all {
		all[i] = message(rng)
	}
	d := new(Decompressor)
	for codec, encoding := range encodings(b) {
		p := valueBlock(b, encoding, all...)
		b.Run(codec.String(), func(b *testing.B) {
			for b.Loop() {
				v, err := ParseValues(p, len(all), d)
				if err != nil {
					b.Fatal(err)
				}
				column(b, v, encoding.Encoder)
			}
		})
	}
}
