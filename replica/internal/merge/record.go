// Package merge holds the merged state of records, and the rules by which operations change it.
//
// The state of a record is a pure function of the set of operations on it and of what happened
// before what: operations commute, as long as each comes after the ones that it has seen. So
// whatever the order of arrival, replicas with the same entries have the same state. The rules,
// where "seen" means that one entry happened before the other:
//
//   - A record is alive while there is an edit that no deletion has seen: an edit beats a
//     concurrent deletion. A deletion keeps the state of the fields, so a concurrent edit restores
//     all of it.
//   - Of a set or keep field, the versions remain that no other version has seen. The one with the
//     greatest time is the field's value; logs break ties.
//   - A sum is the sum of all operations, a maximum the greatest operand, a minimum the least.
//   - Of the elements of a set, and the keys of a map, the additions remain that no removal and no
//     other addition of the same element has seen: adding beats a concurrent removal.
//
// A field is identified by its name and its rule: operations with another rule on the same name are
// about another field. A [Record] refers to logs by numbers that a replica gives them, and is not
// safe for concurrent use. The package knows nothing of types, collections and databases.
package merge

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// Stamp is when and by what entry something was written.
type Stamp struct {
	Time hlc.Time
	Log  uint32 // the replica's number of the log
	Seq  uint64
}

// Version is a value with its stamp.
type Version struct {
	Stamp Stamp
	Value []byte // nil in a set of elements
}

// Item is an element of a set, or an entry of a map.
type Item struct {
	Key      []byte
	Versions []Version // sorted like those of a field
}

// Field is the state of a field.
type Field struct {
	Name     string
	Kind     entry.OpKind
	Versions []Version // of a set or keep field; the winner last
	Value    []byte    // of a max or min field
	Sum      int64
	Items    []Item // of elements and entries, by ascending key

	again  bool           // an operation was merged since Begin
	places map[string]int // of the items by key, while they are not in order; else nil
}

// Record is the state of a record.
type Record struct {
	Alive  []Stamp // edits that no deletion and no other edit has seen, sorted; none: it is deleted
	Fields []Field // by ascending name, then kind; none is empty

	room *room // nil: memory is allocated
	many bool  // between Begin and End
}

// room is memory of a record that is used for one state after another.
type room struct {
	versions []Version // handed out up to the length
	stamps   []Stamp
	table    table
	names    map[string]string // of fields: texts by their bytes
}

// namesMax is how many names of fields a room keeps.
const namesMax = 1 << 10

// name returns the name of a field as a text, which states of one collection share.
func (r *Record) name(p []byte) string {
	m := r.room
	if m == nil {
		return string(p)
	}
	if name, ok := m.names[string(p)]; ok {
		return name
	}
	if len(m.names) >= namesMax {
		clear(m.names)
	} else if m.names == nil {
		m.names = map[string]string{}
	}
	name := string(p)
	m.names[name] = name
	return name
}

// Reset makes the record that of no operation, and lets it use the memory that it had. What was
// taken from it must not be used any more. Copies of the record must not be used either.
func (r *Record) Reset() {
	if r.room == nil {
		r.room = &room{}
	}
	clear(r.room.versions)
	r.room.versions = r.room.versions[:0]
	clear(r.Fields[:cap(r.Fields)])
	r.Alive, r.Fields, r.many = r.Alive[:0], r.Fields[:0], false
}

// versions returns memory for versions.
func (r *Record) versions(n int) []Version {
	m := r.room
	if m == nil {
		return make([]Version, n)
	}
	if cap(m.versions)-len(m.versions) < n {
		m.versions = make([]Version, 0, max(n, 2*cap(m.versions)))
	}
	from := len(m.versions)
	m.versions = m.versions[:from+n]
	return m.versions[from : from+n : from+n]
}

// Order is what a replica knows about logs and entries.
type Order interface {
	// ID returns the id of a log by its number.
	ID(log uint32) entry.Hash
	// Seen reports whether the entry whose operations are merged comes after the one of the stamp.
	Seen(Stamp) bool
}

// compare orders stamps by time, then by the id of the log. No log has two entries with the same
// time.
func compare(o Order, a, b *Stamp) int {
	if c := cmp.Compare(a.Time, b.Time); c != 0 || a.Log == b.Log {
		return c
	}
	x, y := o.ID(a.Log), o.ID(b.Log)
	return bytes.Compare(x[:], y[:])
}

// Apply merges what an entry did to the record. The cost of a change of a set or a map follows the
// size of that, or of the change alone between [Record.Begin] and [Record.End].
func (r *Record) Apply(change *entry.Record, fields []string, at Stamp, o Order) {
	r.Alive = slices.DeleteFunc(r.Alive, o.Seen)
	if change.Delete {
		return
	}
	r.Alive = append(r.Alive, at)
	slices.SortFunc(r.Alive, func(a, b Stamp) int { return compare(o, &a, &b) })
	known := len(r.Fields)
	r.Fields = slices.Grow(r.Fields, len(change.Ops))
	fresh := r.versions(len(change.Ops)) // for one version of each field
	for i := range change.Ops {
		op := &change.Ops[i]
		name := fields[op.Field]
		field, found := find(r.Fields[:known], name, op.Kind)
		if !found {
			field = len(r.Fields)
			r.Fields = append(r.Fields, Field{Name: name, Kind: op.Kind, Versions: fresh[i : i : i+1]})
		}
		r.Fields[field].apply(op, at, o, r.many)
	}
	r.tidy()
}

// tidy drops the fields that are empty, and sorts the others. Mostly there is nothing to do, so it
// copies no field to find out.
func (r *Record) tidy() {
	sorted, empty := true, false
	for i := range r.Fields {
		f := &r.Fields[i]
		empty = empty || f.empty()
		sorted = sorted && (i == 0 || r.Fields[i-1].compare(f.Name, f.Kind) <= 0)
	}
	if empty {
		r.Fields = slices.DeleteFunc(r.Fields, func(f Field) bool { return f.empty() })
	}
	if !sorted {
		slices.SortFunc(r.Fields, compareFields)
	}
}

// apply merges one operation.
func (f *Field) apply(op *entry.Op, at Stamp, o Order, many bool) {
	switch op.Kind {
	case entry.OpSet, entry.OpKeep:
		f.Versions = add(f.Versions, Version{at, op.Value}, o)
	case entry.OpSum:
		f.Sum += op.Delta
	case entry.OpMax:
		if f.Value == nil || bytes.Compare(op.Value, f.Value) > 0 {
			f.Value = op.Value
		}
	case entry.OpMin:
		if f.Value == nil || bytes.Compare(op.Value, f.Value) < 0 {
			f.Value = op.Value
		}
	case entry.OpElements, entry.OpEntries:
		if f.again && len(f.Items) > fewItems {
			f.applyPlaced(op, at, o)
		} else {
			f.applyItems(op, at, o)
		}
		f.again = many
	}
}

// add adds a version, which replaces the versions that its author has seen.
func add(versions []Version, v Version, o Order) []Version {
	versions = append(unseen(versions, o), v)
	slices.SortFunc(versions, func(a, b Version) int { return compare(o, &a.Stamp, &b.Stamp) })
	return versions
}

// unseen removes the versions that the entry has seen.
func unseen(versions []Version, o Order) []Version {
	return slices.DeleteFunc(versions, func(v Version) bool { return o.Seen(v.Stamp) })
}

// find returns the index of a field, or where it would be.
func find(fields []Field, name string, kind entry.OpKind) (i int, found bool) {
	end := len(fields)
	for i < end {
		mid := int(uint(i+end) / 2)
		if fields[mid].compare(name, kind) < 0 {
			i = mid + 1
		} else {
			end = mid
		}
	}
	return i, i < len(fields) && fields[i].Kind == kind && fields[i].Name == name
}

func compareFields(a, b Field) int { return a.compare(b.Name, b.Kind) }

// compare compares the place of a field with that of the one of a name and a kind.
func (f *Field) compare(name string, kind entry.OpKind) int {
	if c := strings.Compare(f.Name, name); c != 0 {
		return c
	}
	return cmp.Compare(f.Kind, kind)
}

// empty reports whether the field has the state of one that was never written.
func (f *Field) empty() bool {
	return len(f.Versions) == 0 && f.Value == nil && f.Sum == 0 && len(f.Items) == 0
}

// Field returns the state of a field, or nil if it was never written.
func (r *Record) Field(name string, kind entry.OpKind) *Field {
	if i, found := find(r.Fields, name, kind); found {
		return &r.Fields[i]
	}
	return nil
}

// Empty reports whether the record has the state of one that was never written.
func (r *Record) Empty() bool { return len(r.Alive)+len(r.Fields) == 0 }

// Winner returns the version of a set or keep field, or of an item, that is its value.
func Winner(versions []Version) *Version { return &versions[len(versions)-1] }
