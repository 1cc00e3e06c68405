package pattern

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// valueKind is values of one kind.
type valueKind struct {
	name string
	make func(r *rand.Rand, i int) []byte
	most float64 // how many bytes a value may take, encoded
}

// valueKinds are small relatives of the kinds that the benchmark measures.
var valueKinds = []valueKind{
	{"messages", message, 174.5},
	{"logs", logLine, 40},
	{"items", item, 6},
	{"events", event, 36},
	{"structs", structure, 16},
	{"words", words, 35},
}

// message is one of the benchmark's messages: 174 of its 397 bytes are information.
func message(r *rand.Rand, _ int) []byte {
	random := func(n int) string { return base64.StdEncoding.EncodeToString(randomBytes(r, n)) }
	return fmt.Appendf(nil, "{\n\t\"previous\": \"%%%s.sha256\",\n\t\"author\": \"@%s.ed25519\",\n"+
		"\t\"sequence\": %d,\n\t\"timestamp\": %d,\n\t\"hash\": \"sha256\",\n\t\"content\": {\n"+
		"\t\t\"type\": \"post\",\n\t\t\"text\": \"%s\"\n\t}\n}",
		random(32), random(32), r.IntN(10_000), r.Uint64(), random(100))
}

func logLine(r *rand.Rand, i int) []byte {
	at := time.Unix(1_700_000_000+int64(i)*3, int64(r.IntN(1e9))).UTC()
	return fmt.Appendf(nil, `{"time":"%s","level":"%s","msg":"request","path":"/users/%d","ms":%d,`+
		`"status":%d,"trace":"%016x"}`, at.Format("2006-01-02T15:04:05.000000000Z07:00"),
		[]string{"INFO", "INFO", "WARN"}[r.IntN(3)], r.IntN(100_000), r.IntN(1000),
		[]int{200, 200, 404}[r.IntN(3)], r.Uint64())
}

func item(_ *rand.Rand, i int) []byte {
	return fmt.Appendf(nil, `{"title":"Item %d","count":%d,"tags":["tag%d","category%d"]}`,
		i+1000, i+1000, i+1000, i%5)
}

func event(r *rand.Rand, i int) []byte {
	id := hex.EncodeToString(randomBytes(r, 16))
	token := base64.RawURLEncoding.EncodeToString(randomBytes(r, 9))
	return fmt.Appendf(nil, `{"id":"%s-%s-%s-%s-%s","day":"%s","token":"%s","key":"%X",`+
		`"price":%d.%02d}`, id[:8], id[8:12], id[12:16], id[16:20], id[20:],
		time.Unix(int64(i)*9000, 0).UTC().Format(time.DateOnly), token,
		randomBytes(r, 6), r.IntN(100), r.IntN(100))
}

func structure(r *rand.Rand, i int) []byte {
	v := binary.LittleEndian.AppendUint64([]byte("HEAD"), uint64(i))
	v = binary.LittleEndian.AppendUint64(v, 1_700_000_000_000+uint64(i)*1000)
	v = binary.LittleEndian.AppendUint32(v, uint32(r.IntN(5000)))
	return append(v, randomBytes(r, 6)...)
}

func words(r *rand.Rand, _ int) []byte {
	const text = `the a of and to in is that for it as was with be by on not he his but at are this
have from or had an they which one you were all her she there would their we him been has when who
will no more if out so up said what its about than into them can only other time new some could`
	list := strings.Fields(text)
	var v []byte
	for range 20 + r.IntN(20) {
		v = append(append(v, list[min(r.IntN(len(list)), r.IntN(len(list)))]...), ' ')
	}
	return v
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// values returns n values of the kind.
func (k valueKind) values(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, n)
	for i := range values {
		values[i] = k.make(r, i)
	}
	return values
}

// train returns a dictionary of the values.
func train(tb testing.TB, values [][]byte) *Dictionary {
	tb.Helper()
	d := Train(values)
	if d == nil {
		tb.Fatal("the values are not worth a dictionary")
	}
	return d
}

// checkDecodes fails the test unless encoded decodes to the value, whatever room there is.
func checkDecodes(tb testing.TB, d *Dictionary, encoded, value []byte) {
	tb.Helper()
	if n, err := d.DecodedLen(encoded); err != nil || n != len(value) {
		tb.Fatalf("DecodedLen = %d, %v, want %d", n, err, len(value))
	}
	for _, extra := range []int{0, 1, 15, 16, 40, 100} {
		got, err := checkTwins(tb, d, encoded, len(value)+extra)
		if err != nil || !bytes.Equal(got, value) {
			tb.Fatalf("with room for %d bytes more: Decode = %q, %v, want %q", extra, got, err, value)
		}
	}
	if len(value) > 0 {
		if _, err := checkTwins(tb, d, encoded, len(value)-1); err == nil {
			tb.Fatal("Decode has no error without room for the last byte")
		}
	}
	for _, n := range []int{0, 1, 20, len(value) / 2, len(value) - 1, len(value), len(value) + 1} {
		checkHead(tb, d, encoded, value, max(n, 0))
	}
}

// checkTwins returns what encoded decodes to where there is room for size bytes. It fails the test
// unless the decoder in assembly and its twin in Go agree, and write nothing elsewhere.
func checkTwins(tb testing.TB, d *Dictionary, encoded []byte, size int) ([]byte, error) {
	tb.Helper()
	const before, behind = "before", "behind"
	decode := func(assembly bool) ([]byte, error) {
		tb.Helper()
		room := append([]byte(before), make([]byte, size)...)
		room = append(room, behind...)
		s := decoder{assembly: assembly}
		got, err := s.decode(d, room[:len(before):len(before)+size], encoded)
		if string(room[len(before)+size:]) != behind {
			tb.Fatalf("assembly %v, room for %d bytes: Decode has written behind it", assembly, size)
		}
		if string(got[:len(before)]) != before {
			tb.Fatalf("assembly %v: Decode has written before the value: %q", assembly, got)
		}
		return got[len(before):], err
	}
	got, err := decode(hasAssembly)
	twin, twinErr := decode(false)
	if !bytes.Equal(got, twin) || err != twinErr {
		tb.Fatalf("room for %d bytes: Decode of %x = %q, %v, its twin returns %q, %v", size, encoded,
			got, err, twin, twinErr)
	}
	return got, err
}

// checkHead fails the test unless the first n bytes of the value decode into the least room.
func checkHead(tb testing.TB, d *Dictionary, encoded, value []byte, n int) {
	tb.Helper()
	const before, behind = "before", "behind"
	size := len(before) + min(n+HeadRoom, len(value))
	room := append([]byte(before), make([]byte, size-len(before))...)
	room = append(room, behind...)
	got, err := d.DecodeHead(room[:len(before):size], encoded, n)
	if err != nil || len(got) < len(before)+min(n, len(value)) ||
		string(got) != before+string(value[:len(got)-len(before)]) {
		tb.Fatalf("DecodeHead of %d bytes = %q, %v, want those of %q", n, got, err, value)
	}
	if string(room[size:]) != behind {
		tb.Fatalf("DecodeHead of %d bytes has written behind the room", n)
	}
}

// handmade returns a dictionary with all kinds of ops, in as few tokens as possible.
func handmade(tb testing.TB) *Dictionary {
	tb.Helper()
	b := newBuilder()
	tokens := []struct {
		bits uint8
		ops  []op
	}{
		{3, []op{b.newPhrase([]byte("id: ")), {kind: kindNumber, bits: 12, at: b.base(1000)},
			b.newPhrase([]byte(" and "))}},
		{3, []op{b.newPhrase([]byte("hello, world"))}},
		{4, []op{{kind: kindSame}}},
		{4, []op{{kind: kindSame, n: 1}, {kind: kindPhrase, n: 5, at: 4}}},
		{4, []op{{kind: kindCopy}}},
		{4, []op{{kind: kindBytes, n: 1, bits: 4}}},
		{4, []op{{kind: kindDigits, n: 3, bits: 3}}},
		{4, []op{{kind: kindHex, n: 8, bits: 5}}},
		{4, []op{{kind: kindHexUpper, n: 8}}},
		{4, []op{{kind: kindBase64, n: 43, at: 1}, b.newPhrase([]byte("="))}},
		{5, []op{{kind: kindBase64URL, n: 12, bits: 6}}},
		{5, []op{{kind: kindUUID}}},
		{5, []op{{kind: kindUUIDUpper}}},
		{5, []op{{kind: kindTime, bits: 38, at: b.base(0)}, b.newPhrase([]byte("Z"))}},
		{6, []op{{kind: kindTimeSpace, bits: 30, at: b.base(1_600_000_000)}}},
		{6, []op{{kind: kindDate, bits: 22, at: b.base(0)}}},
		{6, []op{{kind: kindLittle, bits: 17, n: 8, at: b.base(0)}}},
		{6, []op{{kind: kindBig, bits: 10, n: 4, at: b.base(0)}}},
		{6, []op{{kind: kindNumber, bits: 64, at: b.base(0)}}},
	}
	for _, t := range tokens {
		b.add(t.ops, t.bits)
	}
	d, err := b.dictionary()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// reparsed returns the dictionary serialised and parsed again.
func reparsed(tb testing.TB, d *Dictionary) *Dictionary {
	tb.Helper()
	serial := d.Append(nil)
	again, err := Parse(serial)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(again.Append(nil), serial) {
		tb.Fatal("a parsed dictionary is serialised in another way")
	}
	return again
}
