package strategies

import "fmt"

// nested is the layout with one bucket per record and one pair per field.
type nested struct {
	pairs
	name []byte // of a bucket; reused
	key  []byte // buffer for the name of a field; empty
}

func newNested(s *Schema) layout {
	key := make([]byte, 0, s.longestName())
	return &nested{pairs: pairs{schema: s, scratch: s.newRecord()}, key: key}
}

func (l *nested) write(b Bucket, id int, r Record) error {
	l.name = appendKey(l.name[:0], id)
	bucket, err := b.CreateBucket(l.name)
	if err != nil {
		return err
	}
	return l.put(bucket, l.key, r)
}

func (l *nested) read(b Bucket, id int, into Record) error {
	bucket, err := l.bucket(b, id)
	if err != nil {
		return err
	}
	c := collector{schema: l.schema, into: into}
	for name, value := range bucket.Scan(nil, nil) {
		if err := c.add(name, value); err != nil {
			return fmt.Errorf("record %d: %w", id, err)
		}
	}
	return c.finish()
}

func (l *nested) readMany(b Bucket, first int, into []Record) error {
	for i, r := range into {
		if err := l.read(b, first+i, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *nested) update(b Bucket, id, field int, from Record) error {
	bucket, err := l.bucket(b, id)
	if err != nil {
		return err
	}
	return l.set(bucket, l.key, field, from)
}

// sum gets the one pair of each record, whose number it knows.
func (l *nested) sum(b Bucket, n, field int) (sum float64, err error) {
	for id := range n {
		bucket, err := l.bucket(b, id)
		if err != nil {
			return 0, err
		}
		x, err := l.number(bucket, l.key, field)
		if err != nil {
			return 0, fmt.Errorf("record %d: %w", id, err)
		}
		sum += x
	}
	return sum, nil
}

func (l *nested) bucket(b Bucket, id int) (Bucket, error) {
	l.name = appendKey(l.name[:0], id)
	bucket, err := b.Bucket(l.name)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", id, err)
	}
	return bucket, nil
}
