package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/bench/engine"
)

// model is what the store must contain: the values by key.
type model map[string][]byte

// set applies a pair of [engine.Store.Write]. It keeps a copy.
func (m model) set(p engine.Pair) {
	if p.Value == nil {
		delete(m, string(p.Key))
		return
	}
	m[string(p.Key)] = bytes.Clone(p.Value)
}

// sorted returns the keys in order.
func (m model) sorted() []string { return slices.Sorted(maps.Keys(m)) }

// differs returns an error if a key's value is not the expected one.
func (m model) differs(key string, got []byte) error {
	want := m[key]
	if err := differsInSize(key, len(got), len(want)); err != nil {
		return err
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("key %q: byte %d of the value is %d instead of %d",
				key, i, got[i], want[i])
		}
	}
	return nil
}

func differsInSize(key string, got, want int) error {
	if got != want {
		return fmt.Errorf("key %q: the value has %d bytes instead of %d", key, got, want)
	}
	return nil
}
