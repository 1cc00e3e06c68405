package entry

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// OpKind says what an operation does to a field. It is the field's rule of merging, too.
type OpKind uint8

// The kinds of operations. All other numbers are reserved.
const (
	OpSet      OpKind = 1 // the value with the greatest time wins
	OpKeep     OpKind = 2 // all concurrent values are kept
	OpSum      OpKind = 3 // adds to a number
	OpMax      OpKind = 4 // the greatest value wins
	OpMin      OpKind = 5 // the least value wins
	OpElements OpKind = 6 // adds and removes elements of a set
	OpEntries  OpKind = 7 // puts and removes entries of a map
)

// Changes is the content of a part of a data entry: what happened to the records of one collection.
type Changes struct {
	Fields  []string // the fields that the operations refer to, ascending
	Records []Record // by ascending key; none: there is a salt only, for a checkpoint
	// Salt is SaltSize random bytes, without which nobody can check a guess of the content against
	// its hash; or none.
	Salt []byte
}

// Record is what happened to one record.
type Record struct {
	Key    []byte
	Delete bool // without operations
	Ops    []Op // by ascending field; none: the record exists
}

// Op is what happened to one field.
type Op struct {
	Field int // in Changes.Fields
	Kind  OpKind
	Value []byte // of OpSet, OpKeep, OpMax and OpMin
	Delta int64  // of OpSum; sums wrap around
	// Removed and Added are the elements of OpElements and the entries of OpEntries, by ascending
	// element or key. An added entry is followed by its value.
	Removed, Added []Item
}

// Item is an element of a set, or an entry of a map.
type Item struct {
	Key   []byte
	Value []byte // of an added entry
}

// Limits of changes.
const (
	FieldMax = 255     // bytes of a field's name
	KeyMax   = 1 << 14 // bytes of a record's key
	SaltSize = 16      // bytes of the salt of changes
)

// What happened to a record.
const (
	recordEdited  = 0
	recordDeleted = 1
)

// Append appends the encoded changes.
func (c *Changes) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.Fields)))
	for _, name := range c.Fields {
		dst = wire.AppendBytes(dst, name)
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.Records)))
	for i := range c.Records {
		dst = c.Records[i].append(dst)
	}
	return append(dst, c.Salt...)
}

// IsSalt reports whether this is the encoding of a salt only, which changes nothing.
func IsSalt(content []byte) bool {
	return len(content) == 2+SaltSize && content[0] == 0 && content[1] == 0
}

// Room returns about how many bytes Append appends.
func (c *Changes) Room() int {
	n := 16 + len(c.Salt)
	for _, name := range c.Fields {
		n += len(name) + 2
	}
	for i := range c.Records {
		n += len(c.Records[i].Key) + 8
		for j := range c.Records[i].Ops {
			n += len(c.Records[i].Ops[j].Value) + 4
		}
	}
	return n
}

// Memory returns about how many bytes the changes take, besides those that they were read from.
func (c *Changes) Memory() int {
	const record, op, item = 64, 112, 48
	n := record + 32*len(c.Fields)
	for i := range c.Records {
		n += record + op*len(c.Records[i].Ops)
		for j := range c.Records[i].Ops {
			n += item * (len(c.Records[i].Ops[j].Removed) + len(c.Records[i].Ops[j].Added))
		}
	}
	return n
}

// Record returns what happened to the record of a key, or nil if nothing did.
func (c *Changes) Record(key []byte) *Record {
	i, found := slices.BinarySearchFunc(c.Records, key, func(r Record, key []byte) int {
		return bytes.Compare(r.Key, key)
	})
	if !found {
		return nil
	}
	return &c.Records[i]
}

func (rec *Record) append(dst []byte) []byte {
	dst = wire.AppendBytes(dst, rec.Key)
	if rec.Delete {
		return append(dst, recordDeleted)
	}
	dst = binary.AppendUvarint(append(dst, recordEdited), uint64(len(rec.Ops)))
	for i := range rec.Ops {
		op := &rec.Ops[i]
		dst = append(binary.AppendUvarint(dst, uint64(op.Field)), byte(op.Kind))
		switch op.Kind {
		case OpSum:
			dst = binary.AppendVarint(dst, op.Delta)
		case OpElements, OpEntries:
			dst = appendItems(appendItems(dst, op.Removed), op.Added)
		default:
			dst = append(dst, op.Value...)
		}
	}
	return dst
}

func appendItems(dst []byte, items []Item) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for i := range items {
		dst = append(append(dst, items[i].Key...), items[i].Value...)
	}
	return dst
}

// ParseChanges decodes the content of a part of a data entry.
func ParseChanges(p []byte) (*Changes, error) { return (&Parser{alone: true}).Parse(p) }

func (op *Op) parse(r *wire.Reader, fields int) {
	field := r.Uvarint()
	if field >= uint64(fields) {
		r.Fail("an operation on field %d of %d", field, fields)
	}
	op.Field, op.Kind = int(field), OpKind(r.Byte())
	switch op.Kind {
	case OpSet, OpKeep:
		op.Value = value.Take(r)
	case OpMax, OpMin:
		op.Value = value.TakeScalar(r)
	case OpSum:
		op.Delta = r.Varint()
	case OpElements, OpEntries:
		op.Removed = takeItems(r, itemKeys)
		op.Added = takeItems(r, itemForm(op.Kind == OpEntries))
		if len(op.Removed)+len(op.Added) == 0 {
			r.Fail("an operation on a set does nothing")
		}
	default:
		r.FailWith(ErrNewer)
	}
}

// itemForm says whether items have values.
type itemForm bool

const (
	itemKeys   itemForm = false
	itemValues itemForm = true
)

// takeItems reads the elements of a set, or the entries of a map.
func takeItems(r *wire.Reader, form itemForm) []Item {
	n := r.Count(SizeMax, 1)
	if n == 0 {
		return nil
	}
	items := make([]Item, n)
	for i := range items {
		items[i].Key = value.TakeScalar(r)
		if form == itemValues {
			items[i].Value = value.Take(r)
		}
		if i > 0 && bytes.Compare(items[i].Key, items[i-1].Key) <= 0 {
			r.Fail("the items are not sorted")
		}
		if r.Err() != nil {
			return nil
		}
	}
	return items
}

// DropUnused drops the fields that no operation refers to.
func (c *Changes) DropUnused() {
	used := make([]bool, len(c.Fields))
	for i := range c.Records {
		for j := range c.Records[i].Ops {
			used[c.Records[i].Ops[j].Field] = true
		}
	}
	numbers := make([]int, len(c.Fields))
	var left []string
	for i, name := range c.Fields {
		if numbers[i] = len(left); used[i] {
			left = append(left, name)
		}
	}
	for i := range c.Records {
		for j := range c.Records[i].Ops {
			op := &c.Records[i].Ops[j]
			op.Field = numbers[op.Field]
		}
	}
	c.Fields = left
}
