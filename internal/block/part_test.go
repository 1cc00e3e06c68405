package block

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// parts calls check with the bounds of some parts of n entries.
func parts(n int, rng *rand.Rand, check func(first, n int)) {
	for range 20 {
		first := rng.Intn(n)
		check(first, 1+rng.Intn(min(PartMax, n-first)))
	}
}

// bytesOf returns the length of all strings together.
func bytesOf(all [][]byte) (n int) {
	for _, p := range all {
		n += len(p)
	}
	return n
}

// some is a column and what it should have.
type some struct {
	column Column
	want   [][]byte
}

// check fails the test unless the columns have what they should.
func check(t *testing.T, name string, all []some) {
	t.Helper()
	for _, s := range all {
		for i, want := range s.want {
			if got := s.column.At(i); !bytes.Equal(got, want) || cap(got) != len(got) {
				t.Fatalf("%s: %d of %d is %.40x with room for %d, want %.40x", name, i, len(s.want), got,
					cap(got), want)
			}
		}
	}
}

func TestScratch_keepsKeysOfParts(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var s Scratch
	for _, shape := range shapes(rng) {
		k := parse(t, fill(shape.keys, someValue))
		var all []some
		parts(len(shape.keys), rng, func(first, n int) {
			want := shape.keys[first : first+n]
			keys, ok := s.Keys(&k, first, n)
			if size := bytesOf(want); ok != (size <= partBytes) {
				t.Fatalf("%s: keys of %d bytes: %v", shape.name, size, ok)
			}
			if ok {
				all = append(all, some{keys, want})
			}
		})
		check(t, shape.name, all)
		s.Reset()
	}
}

func TestScratch_keepsValuesOfParts(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var s Scratch
	e := encoder(t)
	messages := make([][]byte, 200)
	for i := range messages {
		messages[i] = message(rng)
	}
	large := [][]byte{message(rng), bytes.Repeat(message(rng), 1000), message(rng)}
	for name, values := range map[string][][]byte{"messages": messages, "large": large} {
		v, err := ParseValues(valueBlock(t, Encoding{Encoder: e}, values...), len(values), nil)
		if err != nil || v.Codec != Pattern {
			t.Fatalf("%s: %v, %v", name, v.Codec, err)
		}
		var all []some
		parts(len(values), rng, func(first, n int) {
			want := values[first : first+n]
			got, ok, err := s.Values(&v.Encoded, e.Dictionary, nil, first, n)
			if size := bytesOf(want); err != nil || ok != (size <= partBytes) {
				t.Fatalf("%s: values of %d bytes: %v, %v", name, size, ok, err)
			}
			if ok {
				all = append(all, some{got, want})
			}
		})
		check(t, name, all)
		s.Reset()
	}
}

func TestScratch_refusesValuesOfAnotherLength(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	e := encoder(t)
	b := new(Builder)
	b.Encode(Encoding{Encoder: e})
	for i := range 20 {
		kind, value := keyspace.KindPut, message(rng)
		if i == 10 {
			kind, value = keyspace.KindPointer, make([]byte, 350)
		}
		b.Add([]byte{byte(i)}, keyspace.Entry{Kind: kind, Value: value})
	}
	kinds := parse(t, b)
	p, _ := appendValues(t, nil, b)
	lengths, tried := p[valueHeaderBytes:], 0
	for i := range 20 {
		more, less := &lengths[i], &lengths[(i+1)%20]
		if *more == 255 || *less == 0 {
			continue
		}
		tried++
		*more++ // so that the sum stays
		*less--
		v, err := ParseValues(reseal(p), 20, nil)
		if err != nil {
			t.Fatal(err)
		}
		var s Scratch
		if _, _, err := s.Values(&v.Encoded, e.Dictionary, kinds.Kinds(), i, 1); err == nil {
			t.Errorf("value %d has a byte less than the block says", i)
		}
		if all, err := v.Encoded.Decode(e.Dictionary, kinds.Kinds()); err == nil {
			t.Errorf("decoded all values, with %q", all.At(i))
		}
		*more--
		*less++
	}
	if tried < 10 {
		t.Errorf("tried only %d values", tried)
	}
}

func TestColumn_slicesAreItsStrings(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, shape := range shapes(rng) {
		k := parse(t, fill(shape.keys, someValue))
		all := k.Expand()
		parts(len(shape.keys), rng, func(first, n int) {
			check(t, shape.name, []some{{all.Slice(first, n), shape.keys[first : first+n]}})
		})
	}
}
