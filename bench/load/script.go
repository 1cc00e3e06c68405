package load

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// script is a list of writes or of gets that are drawn up beforehand. Each is a key, a number, and
// whether there is a value. The number says where the value that is written is cut from, or what
// the last bytes are of the value that a get must return.
type script struct{ buf []byte }

const lineBytes = keyBytes + 4 + 1

// newScript returns room for n lines, which takes memory already.
func newScript(n int) (script, error) {
	buf, err := machine.Anonymous(n * lineBytes)
	if err != nil {
		return script{}, fmt.Errorf("make room for %d entries: %w", n, err)
	}
	clear(buf)
	return script{buf}, nil
}

// room returns how many lines there may be.
func (s script) room() int { return len(s.buf) / lineBytes }

// line returns the key, the number and the flag of a line.
func (s script) line(i int) (key []byte, number uint32, present bool) {
	l := s.buf[i*lineBytes : (i+1)*lineBytes]
	return l[:keyBytes:keyBytes], binary.LittleEndian.Uint32(l[keyBytes:]), l[lineBytes-1] != 0
}

// set sets the number and the flag of a line, and returns its key for the caller to write.
func (s script) set(i int, number uint32, present bool) (key []byte) {
	l := s.buf[i*lineBytes : (i+1)*lineBytes]
	binary.LittleEndian.PutUint32(l[keyBytes:], number)
	l[lineBytes-1] = 0
	if present {
		l[lineBytes-1] = 1
	}
	return l[:keyBytes]
}

// goneShare is the share of the numbers that are absent after the load, 1/e. The churn deletes as
// many of the keys it draws, so that it leaves as many present as it found.
const goneShare = 0.36788

// drawWrites draws up n writes, which it makes in the set too: with deletes among them if it is
// told so.
func (s script) drawWrites(set *entrySet, random *rand.Rand, n int, deletes bool) {
	for i := range n {
		number := random.Uint32N(set.numbers)
		var at uint32
		put := !deletes || random.Float64() >= goneShare
		if put {
			at = set.put(number)
		} else {
			set.remove(number)
		}
		set.putKey(s.set(i, at, put), number)
	}
}

// drawInOrder draws up the writes of the numbers, which it makes in the set too.
func (s script) drawInOrder(set *entrySet, numbers []uint32) {
	for i, number := range numbers {
		set.putKey(s.set(i, set.put(number), true), number)
	}
}

// drawGets draws up n gets.
func (s script) drawGets(set *entrySet, random *rand.Rand, n int) {
	for i := range n {
		number := random.Uint32N(set.numbers)
		last, present := set.last(number)
		set.putKey(s.set(i, last, present), number)
	}
}

// appendPairs appends to dst what the lines from i up to j, without j, write.
func (s script) appendPairs(dst []engine.Pair, set *entrySet, i, j int) []engine.Pair {
	for ; i < j; i++ {
		key, at, put := s.line(i)
		pair := engine.Pair{Key: key}
		if put {
			pair.Value = set.value(at)
		}
		dst = append(dst, pair)
	}
	return dst
}
