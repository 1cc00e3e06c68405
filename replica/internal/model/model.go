// Package model computes the state of a space from the set of its entries: the obviously correct
// reference that tests compare replicas with.
//
// It knows all entries at once, in no order, and decides about each operation by looking at all
// others. So it is slow, and shares no code with package merge. Functions are safe for concurrent
// use.
package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Fact is an entry with its place.
type Fact struct {
	Log   entry.Hash
	Seq   uint64
	Hash  entry.Hash
	Entry *entry.Entry
}

// id identifies a fact.
type id struct {
	log entry.Hash
	seq uint64
}

// did is what one fact did to one record or to one of its fields.
type did struct {
	*Fact
	past   map[id]bool // all facts that happened before
	change *entry.Record
	op     *entry.Op
	item   *entry.Item
	bare   bool // it has operations, and is no edit
}

// seen reports whether d comes after other.
func (d *did) seen(other *did) bool { return d.past[id{other.Log, other.Seq}] }

// before orders what survives: by time, then by log.
func (d *did) before(other *did) int {
	if d.Entry.Time != other.Entry.Time {
		return int(min(max(int64(d.Entry.Time)-int64(other.Entry.Time), -1), 1))
	}
	return bytes.Compare(d.Log[:], other.Log[:])
}

// Root returns the root of the state of a space that has the facts, which must be all that they
// follow from, too.
func Root(space entry.Hash, about *entry.Space, facts []Fact) ([32]byte, error) {
	r, err := NewRights(about, facts)
	if err != nil {
		return [32]byte{}, err
	}
	all := r.levels(facts)
	records, err := since(facts, all, lates(facts, all))
	if err != nil {
		return [32]byte{}, err
	}
	var list []byte
	collections := 0
	for _, collection := range slices.Sorted(maps.Keys(records)) {
		states := map[string][]byte{}
		for key, all := range records[collection] {
			if state := canonical(all); !bytes.Equal(state, []byte{0, 0}) {
				states[key] = state
			}
		}
		if len(states) == 0 {
			continue
		}
		collections++
		chunks := chunks(states)
		root := tree(chunks)
		list = binary.AppendUvarint(appendText(list, collection), uint64(len(chunks)))
		list = append(list, root[:]...)
	}
	p := append([]byte("stoat.replica.state.v2"), space[:]...)
	p = append(binary.AppendUvarint(p, uint64(collections)), list...)
	return sha256.Sum256(p), nil
}

// chunks cuts the states of the records of a collection.
func chunks(states map[string][]byte) (all [][]byte) {
	var chunk []byte
	for _, key := range slices.Sorted(maps.Keys(states)) {
		record := appendText(appendText(nil, key), string(states[key]))
		chunk = append(chunk, record...)
		sum := sha256.Sum256([]byte(key))
		cut := binary.BigEndian.Uint64(sum[:])%(48<<10) < uint64(len(record))
		if len(chunk) >= 256<<10 || len(chunk) >= 16<<10 && cut {
			all, chunk = append(all, chunk), nil
		}
	}
	if len(chunk) > 0 {
		all = append(all, chunk)
	}
	return all
}

// tree returns the Merkle root of some chunks.
func tree(chunks [][]byte) [32]byte {
	if len(chunks) == 1 {
		return sha256.Sum256(append([]byte("stoat.replica.chunk.v1"), chunks[0]...))
	}
	left := 1
	for 2*left < len(chunks) {
		left *= 2
	}
	a, b := tree(chunks[:left]), tree(chunks[left:])
	return sha256.Sum256(slices.Concat([]byte("stoat.replica.node.v1"), a[:], b[:]))
}

// state is what was done to each record, by collection and key.
type state map[string]map[string][]named

// add adds what a fact did. The operations of a change are in field order, and the fields' names
// are in the changes.
func (s state) add(facts []Fact, f *Fact, ghosts bool) error {
	past := pastOf(facts, f)
	past[id{}] = ghosts
	for _, part := range f.Entry.Parts {
		changes, err := entry.ParseChanges(part.Data)
		if err != nil {
			return fmt.Errorf("entry %d of log %s: %w", f.Seq, f.Log, err)
		}
		if s[part.Group] == nil {
			s[part.Group] = map[string][]named{}
		}
		for j := range changes.Records {
			r := &changes.Records[j]
			d := named{did{Fact: f, past: past, change: r}, changes.Fields}
			s[part.Group][string(r.Key)] = append(s[part.Group][string(r.Key)], d)
		}
	}
	return nil
}

// named is what was done to a record, with the names of the fields.
type named struct {
	did
	fields []string
}

// pastOf returns everything that happened before a fact.
func pastOf(facts []Fact, f *Fact) map[id]bool {
	past := map[id]bool{}
	var visit func(f *Fact)
	reach := func(log entry.Hash, seq uint64) {
		if past[id{log, seq}] {
			return
		}
		past[id{log, seq}] = true
		for i := range facts {
			if facts[i].Log == log && facts[i].Seq == seq {
				visit(&facts[i])
			}
		}
	}
	visit = func(f *Fact) {
		if f.Seq > 0 {
			reach(f.Log, f.Seq-1)
		}
		for _, h := range f.Entry.Context {
			reach(h.Log, h.Seq)
		}
	}
	visit(f)
	return past
}

// survivors returns the changes that no other change has seen, in order.
func survivors(of, others []did) []did {
	left := slices.DeleteFunc(slices.Clone(of), func(d did) bool {
		return slices.ContainsFunc(others, func(o did) bool { return o.seen(&d) })
	})
	slices.SortStableFunc(left, func(a, b did) int { return a.before(&b) })
	return left
}

// field identifies a field.
type field struct {
	name string
	kind entry.OpKind
}

// grouped returns the edits that keep a record, all changes of it, and the operations by field.
func grouped(all []named) (edits, everything []did, ops map[field][]did) {
	ops = map[field][]did{}
	for _, d := range all {
		everything = append(everything, d.did)
		if d.change.Delete {
			continue
		}
		if !d.bare {
			edits = append(edits, d.did)
		}
		for i := range d.change.Ops {
			op := &d.change.Ops[i]
			f := field{d.fields[op.Field], op.Kind}
			with := d.did
			with.op = op
			ops[f] = append(ops[f], with)
		}
	}
	return edits, everything, ops
}

// canonical returns the canonical state of a record.
func canonical(all []named) []byte {
	edits, everything, ops := grouped(all)
	p := appendStamps(nil, survivors(edits, everything), nil)
	fields := map[string][]byte{} // by name and kind
	for f, ops := range ops {
		if content := f.state(ops); content != nil {
			key := append(appendText(nil, f.name), byte(f.kind))
			fields[f.name+"\x00"+string(rune(f.kind))] = append(key, content...)
		}
	}
	p = binary.AppendUvarint(p, uint64(len(fields)))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p = append(p, fields[name]...)
	}
	return p
}

// state returns the canonical state of a field, or nil if it is the state of a field that was
// never written.
func (f field) state(ops []did) []byte {
	switch f.kind {
	case entry.OpSum:
		sum := int64(0)
		for _, d := range ops {
			sum += d.op.Delta
		}
		if sum == 0 {
			return nil
		}
		return binary.AppendVarint(nil, sum)
	case entry.OpMax, entry.OpMin:
		byValue := func(a, b did) int { return bytes.Compare(a.op.Value, b.op.Value) }
		if f.kind == entry.OpMin {
			return slices.MinFunc(ops, byValue).op.Value
		}
		return slices.MaxFunc(ops, byValue).op.Value
	case entry.OpElements, entry.OpEntries:
		return items(ops)
	}
	return appendStamps(nil, survivors(ops, ops), func(d *did) []byte { return d.op.Value })
}

// items returns the canonical state of a set or a map.
func items(ops []did) []byte {
	added, touched := byItem(ops)
	left := map[string][]did{}
	for key := range added {
		if s := survivors(added[key], touched[key]); len(s) > 0 {
			left[key] = s
		}
	}
	if len(left) == 0 {
		return nil
	}
	p := binary.AppendUvarint(nil, uint64(len(left)))
	for _, key := range slices.Sorted(maps.Keys(left)) {
		p = append(p, key...)
		p = appendStamps(p, left[key], func(d *did) []byte { return d.item.Value })
	}
	return p
}

// byItem returns the operations that add each item, and all that are about it.
func byItem(ops []did) (added, touched map[string][]did) {
	added, touched = map[string][]did{}, map[string][]did{}
	for _, d := range ops {
		for i := range d.op.Added {
			with := d
			with.item = &d.op.Added[i]
			key := string(with.item.Key)
			added[key], touched[key] = append(added[key], with), append(touched[key], with)
		}
		for i := range d.op.Removed {
			key := string(d.op.Removed[i].Key)
			touched[key] = append(touched[key], d)
		}
	}
	return added, touched
}

// appendStamps appends the number of some operations, and the stamp of each with its value, if
// there is one.
func appendStamps(dst []byte, all []did, value func(*did) []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for i := range all {
		d := &all[i]
		if d.Fact == ghost {
			dst = append(dst, 0)
		} else {
			dst = binary.BigEndian.AppendUint64(append(dst, 1), uint64(d.Entry.Time))
			dst = binary.AppendUvarint(append(dst, d.Log[:]...), d.Seq)
		}
		if value != nil {
			dst = append(dst, value(d)...)
		}
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
