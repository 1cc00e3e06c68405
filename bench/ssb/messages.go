package ssb

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/stoatdb/stoat/bench/machine"
)

// Names of the data sets.
const (
	dataMessages = "messages" // JSON like that of a social network's log
	dataRandom   = "random"   // incompressible bytes
)

// The lengths of the values: those of the random data set are all equal, messages vary a little.
const (
	valueBytes   = 1000
	messageBytes = 404 // at most
)

// generator makes the values of a data set, one after another. The same seed gives the same values.
type generator struct {
	random *rand.ChaCha8
	kind   string
	raw    [valueBytes]byte
}

func newGenerator(kind string, seed uint64) (*generator, error) {
	if kind != dataMessages && kind != dataRandom {
		return nil, fmt.Errorf("no data set %q", kind)
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &generator{random: rand.NewChaCha8(key), kind: kind}, nil
}

// longest returns the length of the longest value.
func (g *generator) longest() int {
	if g.kind == dataRandom {
		return valueBytes
	}
	return messageBytes
}

// append appends the next value to dst.
func (g *generator) append(dst []byte) []byte {
	if g.kind == dataRandom {
		return append(dst, g.bytes(valueBytes)...)
	}
	dst = append(dst, "{\n\t\"previous\": \"%"...)
	dst = base64.StdEncoding.AppendEncode(dst, g.bytes(32))
	dst = append(dst, ".sha256\",\n\t\"author\": \"@"...)
	dst = base64.StdEncoding.AppendEncode(dst, g.bytes(32))
	dst = append(dst, ".ed25519\",\n\t\"sequence\": "...)
	dst = strconv.AppendUint(dst, g.random.Uint64()%10_000, 10)
	dst = append(dst, ",\n\t\"timestamp\": "...)
	dst = strconv.AppendUint(dst, g.random.Uint64(), 10)
	dst = append(dst, ",\n\t\"hash\": \"sha256\",\n\t\"content\": {\n\t\t\"type\": \"post\",\n"...)
	dst = append(dst, "\t\t\"text\": \""...)
	dst = base64.StdEncoding.AppendEncode(dst, g.bytes(100))
	return append(dst, "\"\n\t}\n}"...)
}

// bytes returns n random bytes, valid until the next call.
func (g *generator) bytes(n int) []byte {
	b := g.raw[:n]
	_, _ = g.random.Read(b) // never fails
	return b
}

// messages holds values by sequence number, outside the Go heap.
type messages struct {
	buf  []byte
	ends []byte // of the values in buf, 8 bytes each
}

// newMessages returns room for n values of up to longest bytes.
func newMessages(n, longest int) (*messages, error) {
	buf, err := machine.Anonymous(n * longest)
	if err != nil {
		return nil, fmt.Errorf("make room for %d messages: %w", n, err)
	}
	ends, err := machine.Anonymous(8 * n)
	if err != nil {
		return nil, fmt.Errorf("make room for %d messages: %w", n, err)
	}
	return &messages{buf[:0], ends}, nil
}

// fill replaces the values with the generator's next ones.
func (m *messages) fill(g *generator) {
	m.buf = m.buf[:0]
	for i := range m.len() {
		m.buf = g.append(m.buf)
		binary.LittleEndian.PutUint64(m.ends[8*i:], uint64(len(m.buf)))
	}
}

func (m *messages) len() int { return len(m.ends) / 8 }

func (m *messages) end(i int) int { return int(binary.LittleEndian.Uint64(m.ends[8*i:])) }

func (m *messages) start(i int) int {
	if i == 0 {
		return 0
	}
	return m.end(i - 1)
}

// value returns the value with sequence number i.
func (m *messages) value(i int) []byte {
	start, end := m.start(i), m.end(i)
	return m.buf[start:end:end]
}

// size returns the length of the value with sequence number i.
func (m *messages) size(i int) int { return m.end(i) - m.start(i) }

// appendValues appends the values with sequence numbers in [i, j) to dst.
func (m *messages) appendValues(dst [][]byte, i, j int) [][]byte {
	for ; i < j; i++ {
		dst = append(dst, m.value(i))
	}
	return dst
}
