package strategies

import (
	"fmt"
	"iter"
)

// codec turns a whole record into a value and back.
type codec interface {
	// encode returns a slice that the caller owns.
	encode(r Record) ([]byte, error)
	decode(value []byte, into Record) error
	// number returns a field's contribution to a sum.
	number(value []byte, field int) (float64, error)
	// replace returns the value, in a new slice, with one field of another record.
	replace(value []byte, field int, from Record) ([]byte, error)
}

// partial is a codec that finds a field without the bytes after it.
type partial interface {
	// reach returns how many bytes of the value's start are enough for number.
	reach(value []byte, field int) (int, error)
}

// onePair is the layout with one pair per record.
type onePair struct {
	codec      codec
	start, end [keyBytes]byte
}

func (l *onePair) write(b Bucket, id int, r Record) error {
	value, err := l.codec.encode(r)
	if err != nil {
		return err
	}
	return b.Put(appendKey(l.start[:0], id), value)
}

func (l *onePair) read(b Bucket, id int, into Record) error {
	value, err := l.get(b, id)
	if err != nil {
		return err
	}
	return l.codec.decode(value, into)
}

func (l *onePair) readMany(b Bucket, first int, into []Record) error {
	var n int
	for _, value := range b.Scan(l.keys(first, first+len(into))) {
		if n == len(into) {
			return errEncoding
		}
		if err := l.codec.decode(value, into[n]); err != nil {
			return fmt.Errorf("record %d: %w", first+n, err)
		}
		n++
	}
	if n < len(into) {
		return missing(first + n)
	}
	return nil
}

func (l *onePair) update(b Bucket, id, field int, from Record) error {
	value, err := l.get(b, id)
	if err != nil {
		return err
	}
	if value, err = l.codec.replace(value, field, from); err != nil {
		return err
	}
	return b.Put(appendKey(l.start[:0], id), value)
}

func (l *onePair) sum(b Bucket, n, field int) (sum float64, err error) {
	values, err := l.values(b, field)
	if err != nil {
		return 0, err
	}
	var found int
	for key, value := range values {
		x, err := l.codec.number(value, field)
		if err != nil { // perhaps the field is after the head
			if value, err = b.Get(key); err == nil {
				x, err = l.codec.number(value, field)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("record %d: %w", found, err)
		}
		sum += x
		found++
	}
	if found != n {
		return 0, fmt.Errorf("%d records instead of %d", found, n)
	}
	return sum, nil
}

// values iterates over all records, with as much of each value as most records need for a field,
// estimated from the first record.
func (l *onePair) values(b Bucket, field int) (iter.Seq2[[]byte, []byte], error) {
	codec, ok := l.codec.(partial)
	if !ok {
		return b.Scan(nil, nil), nil
	}
	for _, value := range b.Scan(nil, nil) {
		n, err := codec.reach(value, field)
		return b.Heads(nil, nil, n+n/4), err
	}
	return b.Scan(nil, nil), nil
}

func (l *onePair) get(b Bucket, id int) ([]byte, error) {
	value, err := b.Get(appendKey(l.start[:0], id))
	if err == nil && value == nil {
		err = missing(id)
	}
	return value, err
}

// keys returns the keys of two records, valid until the next call of any method.
func (l *onePair) keys(first, second int) (start, end []byte) {
	return appendKey(l.start[:0], first), appendKey(l.end[:0], second)
}
