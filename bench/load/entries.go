package load

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stoatdb/stoat/bench/machine"
)

// keyBytes is the length of a key.
const keyBytes = len("vsz=00000-k=0000000000")

// entrySet knows which numbers are present and what their values are. It is safe for concurrent use
// while nothing changes it.
type entrySet struct {
	size    int    // of a value
	numbers uint32 // all numbers are below this one
	present int
	seed    uint64
	random  []byte // the values are pieces of it
	states  []byte // by number: how often it was written, modulo 128, and the flag alive
	prefix  string // of the keys
}

// alive is the flag of a number that is present.
const alive = 0x80

// newEntrySet returns an empty set for n numbers and values of size bytes, which are pieces of as
// many bytes as random says.
func newEntrySet(n, size, random int, seed uint64) (*entrySet, error) {
	if n > math.MaxUint32 {
		return nil, fmt.Errorf("%d entries are more than this suite can number; give -n", n)
	}
	s := &entrySet{
		size: size, numbers: uint32(n), seed: seed, prefix: fmt.Sprintf("vsz=%05d-k=", size),
	}
	var err error
	if s.random, err = machine.Anonymous(random); err != nil {
		return nil, fmt.Errorf("make room for random bytes: %w", err)
	}
	if s.states, err = machine.Anonymous(n); err != nil {
		return nil, fmt.Errorf("make room for the states of %d entries: %w", n, err)
	}
	clear(s.states) // touches the memory now
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(s.random) // never fails
	return s, nil
}

// put makes a number present with its next value, and returns the offset of that value.
func (s *entrySet) put(number uint32) (at uint32) {
	state := s.states[number]
	if state&alive == 0 {
		s.present++
	}
	state = (state + 1) | alive
	s.states[number] = state
	return s.at(number, state)
}

// remove makes a number absent.
func (s *entrySet) remove(number uint32) {
	if s.states[number]&alive != 0 {
		s.present--
	}
	s.states[number] &^= alive
}

// last returns whether a number is present, and the last bytes of its value.
func (s *entrySet) last(number uint32) (last uint32, present bool) {
	state := s.states[number]
	if state&alive == 0 {
		return 0, false
	}
	return lastBytes(s.value(s.at(number, state))), true
}

// since reports whether last are the last bytes of the number's value at offset at, or of a later
// value of that number. The number must have been written fewer than 128 times and not removed.
func (s *entrySet) since(number, at, last uint32) bool {
	written := false
	for state := byte(alive + 1); state != 0 && state <= s.states[number]; state++ {
		from := s.at(number, state)
		written = written || from == at
		if written && lastBytes(s.value(from)) == last {
			return true
		}
	}
	return false
}

// at returns the offset of a number's value in a state.
func (s *entrySet) at(number uint32, state byte) uint32 {
	x := s.seed ^ uint64(number)<<8 ^ uint64(state)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // the finalizer of MurmurHash3
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32 * uint64(len(s.random)-s.size+1) >> 32)
}

// value returns the value at an offset.
func (s *entrySet) value(at uint32) []byte {
	end := int(at) + s.size
	return s.random[at:end:end]
}

// putKey writes the key of a number.
func (s *entrySet) putKey(key []byte, number uint32) {
	digits := key[copy(key, s.prefix):keyBytes]
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = '0' + byte(number%10)
		number /= 10
	}
}

// numberOf returns the number of a key.
func numberOf(key []byte) (number uint32) {
	for _, digit := range key[keyBytes-10:] {
		number = 10*number + uint32(digit-'0')
	}
	return number
}

// bytes returns the total length of the keys and values that are present.
func (s *entrySet) bytes() int { return s.present * (keyBytes + s.size) }

// lastBytes returns the last bytes of a value as a number.
func lastBytes(value []byte) uint32 {
	return binary.LittleEndian.Uint32(value[len(value)-4:])
}
