package strategies

import (
	"encoding/binary"
	"fmt"
)

// multiKV is the layout with one pair per field. A key is the record's key and the field's name, so
// all pairs of a record are adjacent.
type multiKV struct {
	pairs
	start, end []byte // keys; reused
}

func newMultiKV(s *Schema) layout {
	start := make([]byte, 0, keyBytes+s.longestName())
	return &multiKV{pairs: pairs{schema: s, scratch: s.newRecord()}, start: start}
}

func (l *multiKV) write(b Bucket, id int, r Record) error { return l.put(b, l.key(id), r) }

func (l *multiKV) read(b Bucket, id int, into Record) error {
	return l.readMany(b, id, []Record{into})
}

func (l *multiKV) readMany(b Bucket, first int, into []Record) error {
	current := -1
	c := collector{schema: l.schema, into: into[0]}
	l.end = appendKey(l.end[:0], first+len(into))
	for key, value := range b.Scan(l.key(first), l.end) {
		if len(key) < keyBytes {
			return errEncoding
		}
		if i := int(binary.BigEndian.Uint64(key)) - first; i != current {
			if i != current+1 {
				break
			}
			if err := l.finish(&c, first, current); err != nil {
				return err
			}
			current, c = i, collector{schema: l.schema, into: into[i]}
		}
		if err := c.add(key[keyBytes:], value); err != nil {
			return fmt.Errorf("record %d: %w", first+current, err)
		}
	}
	if current+1 < len(into) {
		return missing(first + current + 1)
	}
	return l.finish(&c, first, current)
}

// finish ends a record, if there is one.
func (l *multiKV) finish(c *collector, first, current int) error {
	if current < 0 {
		return nil
	}
	if err := c.finish(); err != nil {
		return fmt.Errorf("record %d: %w", first+current, err)
	}
	return nil
}

func (l *multiKV) update(b Bucket, id, field int, from Record) error {
	return l.set(b, l.key(id), field, from)
}

// sum gets the one pair of each record, whose number it knows.
func (l *multiKV) sum(b Bucket, n, field int) (sum float64, err error) {
	for id := range n {
		x, err := l.number(b, l.key(id), field)
		if err != nil {
			return 0, fmt.Errorf("record %d: %w", id, err)
		}
		sum += x
	}
	return sum, nil
}

// key returns the prefix of a record's keys, valid until the next call.
func (l *multiKV) key(id int) []byte {
	l.start = appendKey(l.start[:0], id)
	return l.start
}
