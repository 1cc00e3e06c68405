package salvage

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// merger walks the keys of all layers in order. Of each key it knows what the newest layer says
// that has it.
type merger struct {
	layers  []layer // newest first
	waiting []head  // of layers that are on an entry: by key, then newest first
	deletes []int   // the layers that delete ranges
}

// head is the current entry of a layer.
type head struct {
	key   []byte
	layer int
}

// found is what the newest layer says of a key.
type found struct {
	key     []byte
	entry   keyspace.Entry
	problem string // why its value cannot be read; empty if it can be
	layer   int    // that says it
}

func newMerger(layers []layer) *merger {
	m := &merger{layers: layers}
	for i, l := range layers {
		if len(l.deleted) > 0 {
			m.deletes = append(m.deletes, i)
		}
		m.advance(i)
	}
	return m
}

// next returns the next key that is not deleted as part of a range; ok is false at the end.
func (m *merger) next() (f found, ok bool) {
	for len(m.waiting) > 0 {
		first := m.waiting[0]
		hidden := m.hides(first)
		f = found{key: first.key, layer: first.layer}
		if !hidden {
			f.entry, f.problem = m.layers[first.layer].source.entry()
		}
		for len(m.waiting) > 0 && bytes.Equal(m.waiting[0].key, first.key) {
			layer := m.waiting[0].layer
			m.waiting = m.waiting[1:]
			m.advance(layer)
		}
		if !hidden {
			return f, true
		}
	}
	return found{}, false
}

// hides reports whether a newer layer deletes the head's key as part of a range. Then it deletes
// what older layers have for it, too.
func (m *merger) hides(h head) bool {
	for _, newer := range m.deletes {
		if newer < h.layer && m.layers[newer].deleted.Contains(h.key) {
			return true
		}
	}
	return false
}

// advance moves a layer on and puts it in its place among those that wait.
func (m *merger) advance(layer int) {
	s := m.layers[layer].source
	if !s.next() {
		return
	}
	h := head{s.key(), layer}
	at, _ := slices.BinarySearchFunc(m.waiting, h, func(a, b head) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.layer, b.layer))
	})
	m.waiting = slices.Insert(m.waiting, at, h)
}
