package block

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// shape is keys of one kind that blocks must hold.
type shape struct {
	name string
	keys [][]byte // sorted, distinct, not too many for a block
}

// shapes returns keys of all shapes that the key part treats differently.
func shapes(rng *rand.Rand) []shape {
	random := func(n int) []byte {
		p := make([]byte, n)
		rng.Read(p)
		return p
	}
	of := func(name string, n int, key func(i int) []byte) shape {
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = key(i)
		}
		slices.SortFunc(keys, bytes.Compare)
		return shape{name, slices.CompactFunc(keys, bytes.Equal)}
	}
	counter := func(i int) []byte { return binary.BigEndian.AppendUint64([]byte{0x10}, uint64(i)) }
	return []shape{
		of("one", 1, func(int) []byte { return []byte("only") }),
		of("one, empty", 1, func(int) []byte { return nil }),
		of("one byte", 256, func(i int) []byte { return []byte{byte(i)} }),
		of("counters", 512, counter),
		of("counters from 250", 100, func(i int) []byte { return counter(250 + i) }),
		of("every third", 300, func(i int) []byte { return counter(1<<20 + 3*i) }),
		of("last counters", 10, func(i int) []byte {
			return binary.BigEndian.AppendUint64(nil, ^uint64(i))
		}),
		of("little-endian counters", 500, func(i int) []byte {
			return binary.LittleEndian.AppendUint64([]byte{0x11, 7}, uint64(i*5))
		}),
		of("random 3", 200, func(int) []byte { return random(3) }),
		of("random 8", 200, func(int) []byte { return random(8) }),
		of("random 16", 200, func(int) []byte { return random(16) }),
		of("same first 8 of 12", 200, func(i int) []byte {
			return append([]byte{byte(i % 3), 0, 0, 0, 0, 0, 0, 1}, random(4)...)
		}),
		of("hashes in base64", 100, func(int) []byte {
			return []byte("%" + base64.StdEncoding.EncodeToString(random(32)) + ".sha256")
		}),
		of("random lengths", 300, func(int) []byte { return random(rng.Intn(20)) }),
		of("few letters", 300, func(int) []byte {
			key := make([]byte, rng.Intn(12))
			for i := range key {
				key[i] = "\x00\x01a\xff"[rng.Intn(4)]
			}
			return key
		}),
		of("prefixes of one another", 500, func(i int) []byte { return make([]byte, i) }),
		of("suffix after a prefix", 2, func(i int) []byte { return []byte([]string{"az", "abz"}[i]) }),
		of("long prefix", 100, func(i int) []byte {
			return fmt.Appendf(nil, "%s/%d", strings.Repeat("long/", 100), i)
		}),
		of("65,535 bytes", 3, func(i int) []byte {
			return append(make([]byte, 65_534), byte(7*i))
		}),
		of("65,535 random bytes", 3, func(int) []byte { return random(65_535) }),
		of("counters with names", 450, func(i int) []byte {
			return append(counter(1<<20+i/15), fmt.Sprintf("name%d", i%15*7919)...)
		}),
		of("counters with names, and a few others", 450, func(i int) []byte {
			if i%100 == 99 {
				return append(counter(1<<20), random(5)...)
			}
			return append(counter(1<<20+i/15), "abcdefghijklmnop"[i%15:]...)
		}),
		of("up to 2,000 bytes", 100, func(i int) []byte { return random(1 + rng.Intn(2000)) }),
	}
}

// probes returns keys at, around and far from the given ones.
func probes(keys [][]byte, rng *rand.Rand) [][]byte {
	all := [][]byte{nil, {0}, {0xFF}, bytes.Repeat([]byte{0xFF}, 30)}
	for _, key := range keys {
		all = append(all, key, append(bytes.Clone(key), 0), append(bytes.Clone(key), 0xFF))
		if len(key) > 0 {
			at := len(key) - 1 - rng.Intn(min(len(key), 12))
			up, down := bytes.Clone(key), bytes.Clone(key)
			up[at]++
			down[at]--
			all = append(all, key[:at], up, down, key[:len(key)-1])
		}
	}
	return all
}

// fill returns a builder with the keys. The values are from value; an entry for which it returns
// nil is a tombstone.
func fill(keys [][]byte, value func(i int) []byte) *Builder {
	b := &Builder{}
	for i, key := range keys {
		kind, v := keyspace.KindPut, value(i)
		if v == nil {
			kind = keyspace.KindDelete
		}
		b.Add(key, keyspace.Entry{Kind: kind, Value: v})
	}
	return b
}
