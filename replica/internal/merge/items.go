package merge

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// fewItems is how many items are gone through for each change. The places of more are kept from the
// second of many changes on.
const fewItems = 16

// Begin says that many changes follow, up to [Record.End]. Until then, only [Record.Apply] may be
// called: items are not in order, and some may be gone.
func (r *Record) Begin() { r.many = true }

// End ends what Begin began.
func (r *Record) End() {
	r.many = false
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.again = false; f.places != nil {
			f.places = nil
			f.Items = slices.DeleteFunc(f.Items, func(i Item) bool { return len(i.Versions) == 0 })
			slices.SortFunc(f.Items, func(a, b Item) int { return bytes.Compare(a.Key, b.Key) })
		}
	}
	r.tidy()
}

// applyItems merges an operation on a set or a map, in one pass over both.
func (f *Field) applyItems(op *entry.Op, at Stamp, o Order) {
	items := make([]Item, 0, len(f.Items)+len(op.Added))
	old, removed, added := f.Items, op.Removed, op.Added
	for len(old)+len(added) > 0 {
		var item Item
		if len(added) == 0 || len(old) > 0 && bytes.Compare(old[0].Key, added[0].Key) <= 0 {
			item, old = old[0], old[1:]
		} else {
			item.Key = added[0].Key
		}
		for len(removed) > 0 && bytes.Compare(removed[0].Key, item.Key) < 0 {
			removed = removed[1:]
		}
		if len(removed) > 0 && bytes.Equal(removed[0].Key, item.Key) {
			item.Versions = unseen(item.Versions, o)
		}
		if len(added) > 0 && bytes.Equal(added[0].Key, item.Key) {
			item.Versions = add(item.Versions, Version{at, added[0].Value}, o)
			added = added[1:]
		}
		if len(item.Versions) > 0 {
			items = append(items, item)
		}
	}
	f.Items = items
}

// applyPlaced is applyItems in time that follows the size of the operation. New items come last,
// and those that are gone stay, without versions.
func (f *Field) applyPlaced(op *entry.Op, at Stamp, o Order) {
	if f.places == nil {
		f.places = make(map[string]int, 2*len(f.Items))
		for i := range f.Items {
			f.places[string(f.Items[i].Key)] = i
		}
	}
	for i := range op.Removed {
		if place, ok := f.places[string(op.Removed[i].Key)]; ok {
			item := &f.Items[place]
			item.Versions = unseen(item.Versions, o)
		}
	}
	for i := range op.Added {
		key := op.Added[i].Key
		place, ok := f.places[string(key)]
		if !ok {
			place = len(f.Items)
			f.Items = append(f.Items, Item{Key: key})
			f.places[string(key)] = place
		}
		item := &f.Items[place]
		item.Versions = add(item.Versions, Version{at, op.Added[i].Value}, o)
	}
}
