package compaction

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// cell is what a run says of a key: a nil value is a tombstone.
type cell struct {
	value []byte
	until uint64
}

// writes is what a run says, except for the ranges that it deletes.
type writes map[string]cell

// puts returns writes that put the value, with the key appended, under each of the keys.
func puts(value string, keys ...string) writes { return expiring(0, value, keys...) }

// expiring is puts for entries that expire.
func expiring(until uint64, value string, keys ...string) writes {
	w := writes{}
	for _, key := range keys {
		w[key] = cell{[]byte(value + " of " + key), until}
	}
	return w
}

// deletes returns tombstones for the keys.
func deletes(keys ...string) writes {
	w := writes{}
	for _, key := range keys {
		w[key] = cell{}
	}
	return w
}

// over returns what both say; w wins.
func (w writes) over(older writes) writes {
	older = maps.Clone(older)
	maps.Copy(older, w)
	return older
}

// without returns w except for the keys in the spans.
func (w writes) without(deleted ...keyspace.Span) writes {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(key string, _ cell) bool {
		return slices.ContainsFunc(deleted, func(s keyspace.Span) bool {
			return s.Contains([]byte(key))
		})
	})
	return w
}

// visible returns what a reader sees of w: no tombstones and nothing that has expired.
func (w writes) visible() writes {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(_ string, c cell) bool {
		return c.value == nil || c.until != 0 && c.until <= now
	})
	return w
}

// checkSame fails the test unless both are the same.
func checkSame(t testing.TB, what string, got, want writes) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		c, ok := got[key]
		if !ok || !bytes.Equal(c.value, want[key].value) || c.until != want[key].until ||
			(c.value == nil) != (want[key].value == nil) {
			t.Fatalf("%s: %q is %q, %v, want %q", what, key, c, ok, want[key])
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Fatalf("%s: %q is %q, want nothing", what, key, got[key])
		}
	}
}
