package load

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// script is a list of writes or gets prepared beforehand. Each line has a key, a number, and a flag
// that says whether there is a value. The number is the offset of the value to write, or the last
// bytes of the value that a get must return.
type script struct{ buf []byte }

const lineBytes = keyBytes + 4 + 1

// newScript returns a script of n lines and touches its memory.
func newScript(n int) (script, error) {
	buf, err := machine.Anonymous(n * lineBytes)
	if err != nil {
		return script{}, fmt.Errorf("make room for %d entries: %w", n, err)
	}
	clear(buf)
	return script{buf}, nil
}

// room returns the maximum number of lines.
func (s script) room() int { return len(s.buf) / lineBytes }

// line returns the key, the number and the flag of a line.
func (s script) line(i int) (key []byte, number uint32, present bool) {
	l := s.buf[i*lineBytes : (i+1)*lineBytes]
	return l[:keyBytes:keyBytes], binary.LittleEndian.Uint32(l[keyBytes:]), l[lineBytes-1] != 0
}

// set sets the number and the flag of a line, and returns its key for the caller to fill in.
func (s script) set(i int, number uint32, present bool) (key []byte) {
	l := s.buf[i*lineBytes : (i+1)*lineBytes]
	binary.LittleEndian.PutUint32(l[keyBytes:], number)
	l[lineBytes-1] = 0
	if present {
		l[lineBytes-1] = 1
	}
	return l[:keyBytes]
}

// deleting says whether drawn writes include deletes.
type deleting bool

const (
	putsOnly       deleting = false
	putsAndDeletes deleting = true
)

// goneShare is the share of numbers that are absent after the load, 1/e. The churn deletes this
// share of the keys it draws and therefore leaves as many present as it found.
const goneShare = 0.36788

// drawWrites prepares n writes, and applies them to the set.
func (s script) drawWrites(set *entrySet, random *rand.Rand, n int, kinds deleting) {
	for i := range n {
		number := random.Uint32N(set.numbers)
		var at uint32
		put := kinds == putsOnly || random.Float64() >= goneShare
		if put {
			at = set.put(number)
		} else {
			set.remove(number)
		}
		set.putKey(s.set(i, at, put), number)
	}
}

// drawInOrder prepares the writes of the numbers, and applies them to the set.
func (s script) drawInOrder(set *entrySet, numbers []uint32) {
	for i, number := range numbers {
		set.putKey(s.set(i, set.put(number), true), number)
	}
}

// drawGets prepares n gets.
func (s script) drawGets(set *entrySet, random *rand.Rand, n int) {
	for i := range n {
		number := random.Uint32N(set.numbers)
		last, present := set.last(number)
		set.putKey(s.set(i, last, present), number)
	}
}

// appendPairs appends what the lines in [i, j) write to dst.
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
