package merge

import (
	"bytes"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// nothing is the value to which a field is set that had never been written: nil, which every type
// shows as its zero value.
const nothing = "\x02"

// Difference returns the change after which the record shows what another state of it shows, or nil
// if it does already. Number numbers the names of fields. A maximum and a minimum stay, because
// they only ever grow and shrink; and of fields of one name with two rules, the second one stays.
func (r *Record) Difference(to *Record, number func(name string) int) *entry.Record {
	change := &entry.Record{}
	if len(to.Alive) == 0 {
		change.Delete = true
		if len(r.Alive) == 0 {
			return nil
		}
		return change
	}
	last := ""
	r.eachField(to, func(name string, kind entry.OpKind) {
		op, ok := difference(r.Field(name, kind), to.Field(name, kind), kind)
		if ok && name != last {
			op.Field, last = number(name), name
			change.Ops = append(change.Ops, op)
		}
	})
	if len(r.Alive) > 0 && len(change.Ops) == 0 {
		return nil
	}
	return change
}

// Lasting returns the number of maxima and minima that another state of the record does not have,
// and that [Record.Difference] leaves as they are.
func (r *Record) Lasting(other *Record) (n int) {
	if len(other.Alive) == 0 {
		return 0 // a deletion hides them
	}
	r.eachField(other, func(name string, kind entry.OpKind) {
		if kind != entry.OpMax && kind != entry.OpMin {
			return
		}
		if a, b := r.Field(name, kind), other.Field(name, kind); a != nil &&
			(b == nil || !bytes.Equal(a.Value, b.Value)) {
			n++
		}
	})
	return n
}

// eachField calls fn for each field that one of two states has, by name and kind.
func (r *Record) eachField(other *Record, fn func(name string, kind entry.OpKind)) {
	a, b := r.Fields, other.Fields
	for len(a)+len(b) > 0 {
		var f Field
		switch {
		case len(b) == 0, len(a) > 0 && compareFields(a[0], b[0]) < 0:
			f, a = a[0], a[1:]
		case len(a) == 0, compareFields(a[0], b[0]) > 0:
			f, b = b[0], b[1:]
		default:
			f, a, b = a[0], a[1:], b[1:]
		}
		fn(f.Name, f.Kind)
	}
}

// difference returns the operation after which a field shows what another state of it shows; ok is
// false if there is none, or none is needed. A state is nil if the field was never written.
func difference(from, to *Field, kind entry.OpKind) (op entry.Op, ok bool) {
	if from == nil {
		from = &Field{}
	}
	if to == nil {
		to = &Field{}
	}
	op.Kind = kind
	switch kind {
	case entry.OpSum:
		op.Delta = to.Sum - from.Sum
		return op, op.Delta != 0
	case entry.OpMax, entry.OpMin:
		return op, false
	case entry.OpElements, entry.OpEntries:
		op.Removed, op.Added = from.itemsNotIn(to, byKey), to.itemsNotIn(from, byValue)
		for i := range op.Removed {
			op.Removed[i].Value = nil
		}
		return op, len(op.Removed)+len(op.Added) > 0
	}
	shown := func(f *Field) []byte {
		if len(f.Versions) == 0 {
			return []byte(nothing)
		}
		return Winner(f.Versions).Value
	}
	op.Value = shown(to)
	return op, !bytes.Equal(op.Value, shown(from))
}

// itemsNotIn returns the items of a set or a map that another state of it does not have: with the
// same value, or at all.
func (f *Field) itemsNotIn(other *Field, with comparison) []entry.Item {
	var missing []entry.Item
	rest := other.Items
	for i := range f.Items {
		item := &f.Items[i]
		for len(rest) > 0 && bytes.Compare(rest[0].Key, item.Key) < 0 {
			rest = rest[1:]
		}
		v := Winner(item.Versions).Value
		if len(rest) > 0 && bytes.Equal(rest[0].Key, item.Key) &&
			(with == byKey || bytes.Equal(Winner(rest[0].Versions).Value, v)) {
			continue
		}
		missing = append(missing, entry.Item{Key: item.Key, Value: v})
	}
	return missing
}

// comparison says what makes items equal.
type comparison bool

const (
	byKey   comparison = false
	byValue comparison = true
)
