package flush

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// inBuckets returns puts of so many keys in each of the buckets.
func inBuckets(n int, buckets ...uint64) writes {
	w := writes{}
	for _, id := range buckets {
		for i := range n {
			w[dataKey(id, fmt.Sprintf("key%04d", i))] = fmt.Appendf(nil, "value %d", i)
		}
	}
	return w
}

func TestDo_choosesTheRunOfAPart(t *testing.T) {
	for _, c := range []struct {
		name    string
		more    bool
		buckets []uint64
		bottom  bool
	}{
		{"of one bucket, with more to come", true, []uint64{7}, true},
		{"of two buckets, with more to come", true, []uint64{7, 9}, false},
		{"of two buckets, the last", false, []uint64{7, 9}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			w := inBuckets(100, c.buckets...)
			j := s.job(w)
			j.More = c.more
			checkRun(t, s, s.run(j), w, c.bottom, c.bottom)
		})
	}
}

// A few keys of another bucket, such as what describes a collection, do not say that what comes
// next lies among the others.
func TestDo_choosesTheRunOfAPartByMostKeys(t *testing.T) {
	s := newStore(t)
	w := inBuckets(100, 7)
	w[dataKey(3, "a")], w[dataKey(9, "z")] = []byte("first"), []byte("last")
	j := s.job(w)
	j.More = true
	checkRun(t, s, s.run(j), w, true, true)
}

func TestDo_compressesAPartForItsLargeValues(t *testing.T) {
	for _, shrinks := range []bool{false, true} {
		s := newStore(t)
		s.values.Separate, s.values.Shrink = 1<<10, true
		w := inBuckets(1000, 7, 9)
		noise := rand.NewChaCha8([32]byte{3})
		for i := range 20 {
			value := bytes.Repeat([]byte("many words "), 400)
			if !shrinks {
				_, _ = noise.Read(value)
			}
			w[dataKey(7, fmt.Sprintf("large%02d", i))] = value
		}
		j := s.job(w)
		j.More, j.CompressBottom = true, true
		compressed := false
		for _, meta := range young(s.run(j)) {
			compressed = compressed || meta.Compressed
		}
		if compressed != shrinks {
			t.Errorf("large values that shrink: %t; the part is compressed: %t", shrinks, compressed)
		}
	}
}

func TestDo_writesAPartOfNothingButDeletedRanges(t *testing.T) {
	s := newStore(t)
	s.flush(inBuckets(100, 7))
	edit := memtable.New(0).Begin()
	first := keyspace.AppendPrefix(nil, 7)
	edit.DeleteRange(keyspace.Span{Start: first, End: keyspace.Successor(first)})
	j := s.job(writes{})
	j.Root, j.More = edit.Commit(), true
	s.run(j)
	if left := s.visible(); len(left) > 0 {
		t.Errorf("%d keys are left", len(left))
	}
}
