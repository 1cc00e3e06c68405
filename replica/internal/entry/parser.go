package entry

import (
	"bytes"

	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Parser decodes the changes of one entry after another. It makes room for those of many at once,
// and the entries of one program mostly name the same fields, which it decodes once. The zero
// Parser is ready for use. It is not safe for concurrent use.
type Parser struct {
	known   [4]names // of fields that changes have named, of the last ones that differed
	oldest  int      // of known
	alone   bool     // for changes of one entry: no room for others, and nothing is known
	changes []Changes
	records []Record // what is left of the room for them
	ops     []Op     // the same
}

// names is names of fields, and how they were encoded, in memory of its own: what was parsed may
// be memory of a transaction that ends before the parser.
type names struct {
	encoded []byte // nil: none
	fields  []string
}

// roomMost is for how many changes, records or operations there is room at once, at most. Changes
// that somebody keeps keep the room of their neighbours.
const roomMost = 128

// take returns n zero elements of room, and what is left of it.
func take[T any](p *Parser, room []T, n int) (taken, left []T) {
	if n > len(room) {
		if p.alone || n > roomMost/8 {
			return make([]T, n), room
		}
		room = make([]T, roomMost)
	}
	return room[:n:n], room[n:]
}

// Parse is [ParseChanges]. The changes share the names of fields with others: the caller must not
// change them in place.
func (p *Parser) Parse(data []byte) (*Changes, error) {
	var own []Changes
	own, p.changes = take(p, p.changes, 1)
	c := &own[0]
	r := wire.NewReader(data)
	c.Fields = p.takeFields(data, &r)
	c.Records, p.records = take(p, p.records, r.Count(SizeMax, 3))
	for i := range c.Records {
		p.parseRecord(&r, &c.Records[i], len(c.Fields))
		if i > 0 && bytes.Compare(c.Records[i].Key, c.Records[i-1].Key) <= 0 {
			r.Fail("the records are not sorted")
		}
		if r.Err() != nil {
			break
		}
	}
	if r.Len() > 0 {
		c.Salt = r.Take(SaltSize)
	}
	if len(c.Records) == 0 && (c.Salt == nil || len(c.Fields) > 0) {
		r.Fail("a part has no records")
	}
	return c, r.End()
}

// takeFields reads the names of fields, with which data begins.
func (p *Parser) takeFields(data []byte, r *wire.Reader) []string {
	for i := range p.known {
		if k := &p.known[i]; k.encoded != nil && bytes.HasPrefix(data, k.encoded) {
			r.Take(len(k.encoded))
			return k.fields
		}
	}
	fields := takeFields(r)
	if r.Err() == nil && !p.alone {
		p.known[p.oldest] = names{bytes.Clone(data[:len(data)-r.Len()]), fields}
		p.oldest = (p.oldest + 1) % len(p.known)
	}
	return fields
}

// takeFields reads the names of fields.
func takeFields(r *wire.Reader) []string {
	fields := make([]string, r.Count(SizeMax, 2))
	for i := range fields {
		name := r.Bytes(1, FieldMax)
		if len(name) > 0 && name[0] == 0 {
			r.FailWith(ErrNewer) // the id of a field in a schema
		}
		fields[i] = string(name)
		if i > 0 && fields[i] <= fields[i-1] {
			r.Fail("the fields are not sorted")
		}
	}
	return fields
}

func (p *Parser) parseRecord(r *wire.Reader, rec *Record, fields int) {
	rec.Key = r.Bytes(1, KeyMax)
	if !value.IsTuple(rec.Key) {
		r.Fail("a key is not a tuple")
	}
	switch r.Byte() {
	case recordEdited:
	case recordDeleted:
		rec.Delete = true
		return
	default:
		r.FailWith(ErrNewer)
	}
	n := r.Count(fields, 3)
	if n == 0 {
		return
	}
	rec.Ops, p.ops = take(p, p.ops, n)
	for i := range rec.Ops {
		op := &rec.Ops[i]
		op.parse(r, fields)
		if i > 0 && op.Field <= rec.Ops[i-1].Field {
			r.Fail("the operations are not sorted by field")
		}
	}
}
