package merge

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Stored says what of a record's state is stored elsewhere: in the record itself. A replica stores
// the rest beside it, in a form of its own.
//
//	version       1 byte: 1; or 2, if the first stamp is the zero stamp, which is left out then
//	stamps        uvarint count; each u64 time, uvarint log, uvarint seq, then uvarint length
//	              and a bitmap of fields by number, the lowest bit first: set fields whose only
//	              version has this stamp and the record's value
//	alive         uvarint count; each the uvarint index of a stamp
//	other fields  uvarint count; each uvarint number, 1 byte kind, and then:
//	  sum           varint
//	  max, min      value
//	  elements      uvarint count; each its key and its versions
//	  set, keep     versions: uvarint count; each the uvarint index of a stamp, and the value
//	                behind 01, or 00 if it is the record's
type Stored interface {
	// Number returns the number of a field of the collection, by its name.
	Number(name string) int
	// Name returns the name of a field by its number, or "".
	Name(number int) string
	// Value returns the value that the record has for a set or keep field, or nil.
	Value(name string) []byte
}

// The versions of sidecars.
const (
	sidecarPlain  = 1
	sidecarNormal = 2 // the first stamp is the zero stamp, of everything that a checkpoint covers
)

// bitmapMax is the number of fields that have bits, and listMax the number of items of a list.
const (
	bitmapMax = 1 << 12
	listMax   = 1 << 24
)

// stamped is a stamp in the table of a sidecar, with the fields that have it and nothing else.
type stamped struct {
	Stamp
	fields []byte // bitmap by number
}

// table is the stamps of a sidecar.
type table struct {
	stamps []stamped     // behind the length, the bitmaps have memory
	index  map[Stamp]int // nil while there are few
	items  []int         // indexes of the stamps of the versions of all items, one after the other
}

// fewStamps is how many stamps are searched one by one.
const fewStamps = 16

// indexOf returns the index of a stamp, or the number of stamps.
func (t *table) indexOf(s Stamp) int {
	if t.index != nil {
		if i, ok := t.index[s]; ok {
			return i
		}
		return len(t.stamps)
	}
	for i := range t.stamps {
		if t.stamps[i].Stamp == s {
			return i
		}
	}
	return len(t.stamps)
}

// note returns the index of a stamp in the table, to which it adds it if need be.
func (t *table) note(s Stamp) int {
	i := t.indexOf(s)
	if i < len(t.stamps) {
		return i
	}
	if i < cap(t.stamps) {
		t.stamps = t.stamps[:i+1]
		t.stamps[i] = stamped{s, t.stamps[i].fields[:0]}
	} else {
		t.stamps = append(t.stamps, stamped{Stamp: s})
	}
	if len(t.stamps) == fewStamps {
		t.index = make(map[Stamp]int, 4*fewStamps)
		for j := range t.stamps {
			t.index[t.stamps[j].Stamp] = j
		}
	} else if t.index != nil {
		t.index[s] = i
	}
	return i
}

// AppendSidecar appends what must be stored beside the record.
func (r *Record) AppendSidecar(dst []byte, in Stored) []byte {
	table, rest := r.tabulate(in)
	normal := len(table.stamps) > 0 && table.stamps[0].Stamp == Stamp{}
	if normal {
		dst = append(dst, sidecarNormal)
	} else {
		dst = append(dst, sidecarPlain)
	}
	dst = binary.AppendUvarint(dst, uint64(len(table.stamps)))
	for i := range table.stamps {
		s := &table.stamps[i]
		if i == 0 && normal {
			dst = wire.AppendBytes(dst, s.fields)
			continue
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.Time))
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(s.Log)), s.Seq)
		dst = wire.AppendBytes(dst, s.fields)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Alive)))
	for _, s := range r.Alive {
		dst = binary.AppendUvarint(dst, uint64(table.indexOf(s)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(rest)))
	items := table.items
	for _, f := range rest {
		dst = append(binary.AppendUvarint(dst, uint64(in.Number(f.Name))), byte(f.Kind))
		switch f.Kind {
		case entry.OpSum:
			dst = binary.AppendVarint(dst, f.Sum)
		case entry.OpMax, entry.OpMin:
			dst = append(dst, f.Value...)
		case entry.OpElements, entry.OpEntries:
			dst = binary.AppendUvarint(dst, uint64(len(f.Items)))
			for i := range f.Items {
				dst, items = sidecarItem(dst, &f.Items[i], items)
			}
		default:
			dst = sidecarVersions(dst, f.Versions, table, in.Value(f.Name))
		}
	}
	return dst
}

// tabulate returns the stamps of the record with the fields that say nothing else, and the other
// fields.
func (r *Record) tabulate(in Stored) (stamps *table, rest []*Field) {
	stamps = &table{}
	if r.room != nil {
		stamps = &r.room.table
		*stamps = table{stamps: stamps.stamps[:0], items: stamps.items[:0]}
	}
	for _, s := range r.Alive {
		stamps.note(s)
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		number := in.Number(f.Name)
		if f.Kind == entry.OpSet && len(f.Versions) == 1 && number < bitmapMax &&
			bytes.Equal(f.Versions[0].Value, in.Value(f.Name)) {
			s := &stamps.stamps[stamps.note(f.Versions[0].Stamp)]
			for len(s.fields) <= number/8 {
				s.fields = append(s.fields, 0)
			}
			s.fields[number/8] |= 1 << (number % 8)
			continue
		}
		rest = append(rest, f)
		for _, v := range f.Versions {
			stamps.note(v.Stamp)
		}
		for j := range f.Items {
			for _, v := range f.Items[j].Versions {
				stamps.items = append(stamps.items, stamps.note(v.Stamp))
			}
		}
	}
	return stamps, rest
}

// sidecarItem appends an item, given the indexes of the stamps of its versions and of later ones,
// and returns the latter.
func sidecarItem(dst []byte, item *Item, stamps []int) ([]byte, []int) {
	dst = append(dst, item.Key...)
	dst = binary.AppendUvarint(dst, uint64(len(item.Versions)))
	for i := range item.Versions {
		dst = binary.AppendUvarint(dst, uint64(stamps[i]))
		dst = sidecarValue(dst, item.Versions[i].Value, nil)
	}
	return dst, stamps[len(item.Versions):]
}

// sidecarVersions appends versions; own is the record's value, or nil.
func sidecarVersions(dst []byte, versions []Version, table *table, own []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(versions)))
	for _, v := range versions {
		dst = binary.AppendUvarint(dst, uint64(table.indexOf(v.Stamp)))
		dst = sidecarValue(dst, v.Value, own)
	}
	return dst
}

func sidecarValue(dst, v, own []byte) []byte {
	if v == nil || own != nil && bytes.Equal(v, own) {
		return append(dst, 0)
	}
	return append(append(dst, 1), v...)
}

// ParseSidecar sets an empty record to what AppendSidecar appended, for a record with the same
// values.
func (rec *Record) ParseSidecar(p []byte, in Stored) error {
	r := wire.NewReader(p)
	version := r.Byte()
	if version != sidecarPlain && version != sidecarNormal {
		r.Fail("the state of a record has an unknown version")
	}
	table := rec.stamps(r.Count(listMax, 1))
	for i := range table {
		if i == 0 && version == sidecarNormal {
			rec.parseBitmap(r.Bytes(0, bitmapMax/8), table[i], in, &r)
			continue
		}
		table[i] = Stamp{Time: hlc.Time(r.Uint64()), Log: uint32(r.Uvarint()), Seq: r.Uvarint()}
		rec.parseBitmap(r.Bytes(0, bitmapMax/8), table[i], in, &r)
	}
	for range r.Count(listMax, 1) {
		rec.Alive = append(rec.Alive, takeStamp(&r, table))
	}
	for range r.Count(listMax, 3) {
		f := Field{Name: in.Name(int(r.Uvarint())), Kind: entry.OpKind(r.Byte())}
		f.parse(&r, rec, table, in)
		if r.Err() != nil || f.Name == "" {
			r.Fail("the state of a record names an unknown field")
			break
		}
		rec.Fields = append(rec.Fields, f)
	}
	slices.SortFunc(rec.Fields, compareFields)
	for i := 1; i < len(rec.Fields); i++ {
		if f := &rec.Fields[i]; rec.Fields[i-1].compare(f.Name, f.Kind) == 0 {
			r.Fail("the state of a record has field %s twice", f.Name)
		}
	}
	return r.End()
}

// stamps returns memory for stamps, all zero.
func (rec *Record) stamps(n int) []Stamp {
	if rec.room == nil {
		return make([]Stamp, n)
	}
	rec.room.stamps = slices.Grow(rec.room.stamps[:0], n)[:n]
	clear(rec.room.stamps)
	return rec.room.stamps
}

// parseBitmap adds the fields that have the record's values.
func (rec *Record) parseBitmap(bitmap []byte, s Stamp, in Stored, r *wire.Reader) {
	for i := range 8 * len(bitmap) {
		if bitmap[i/8]>>(i%8)&1 == 0 {
			continue
		}
		name := in.Name(i)
		v := in.Value(name)
		if name == "" || v == nil {
			r.Fail("the record does not have the value of field %d (%s)", i, name)
			return
		}
		versions := rec.versions(1)
		versions[0] = Version{s, v}
		rec.Fields = append(rec.Fields,
			Field{Name: name, Kind: entry.OpSet, Versions: slices.Clip(versions)})
	}
}

func takeStamp(r *wire.Reader, table []Stamp) Stamp {
	i := r.Uvarint()
	if i >= uint64(len(table)) {
		r.Fail("the state of a record refers to stamp %d of %d", i, len(table))
		return Stamp{}
	}
	return table[i]
}

func (f *Field) parse(r *wire.Reader, rec *Record, table []Stamp, in Stored) {
	switch f.Kind {
	case entry.OpSum:
		f.Sum = r.Varint()
	case entry.OpMax, entry.OpMin:
		f.Value = value.TakeScalar(r)
	case entry.OpElements, entry.OpEntries:
		n := r.Count(entry.SizeMax, 2)
		f.Items = make([]Item, 0, n)
		for range n {
			item := Item{Key: value.TakeScalar(r)}
			item.Versions = rec.takeVersions(r, table, f.Kind, nil)
			if f.Items = append(f.Items, item); r.Err() != nil {
				return
			}
		}
	case entry.OpSet, entry.OpKeep:
		f.Versions = rec.takeVersions(r, table, f.Kind, in.Value(f.Name))
	default:
		r.Fail("the state of a record has a field of the unknown kind %d", f.Kind)
	}
}

// takeVersions reads the versions of a field or item of a kind; own is the record's value, or nil.
func (rec *Record) takeVersions(
	r *wire.Reader, table []Stamp, kind entry.OpKind, own []byte,
) []Version {
	n := r.Count(listMax, 2)
	if n == 0 {
		r.Fail("a value has no versions")
		return nil
	}
	versions := rec.versions(n)
	for i := range versions {
		versions[i] = Version{Stamp: takeStamp(r, table), Value: own}
		if r.Byte() != 0 {
			versions[i].Value = value.Take(r)
		}
		if versions[i].Value == nil && kind != entry.OpElements {
			r.Fail("a version has no value")
		}
	}
	return versions
}
