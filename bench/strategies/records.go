package strategies

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// records is the layout of Stoat's package record: a collection of users, with the id as key.
type records struct {
	schema  *Schema
	users   *record.Collection[User] // of the open database
	scratch Record
}

func newRecords(s *Schema) layout { return &records{schema: s, scratch: s.newRecord()} }

// prepare opens the collection, as a program does once.
func (l *records) prepare(db DB) error {
	s, ok := db.(stoatDB)
	if !ok {
		return errors.New("package record needs Stoat")
	}
	if _, ok := l.scratch.whole.(*User); !ok {
		return errors.New("package record needs a type that is known at compile time")
	}
	var err error
	l.users, err = record.Open[User](s.db, "users", nil)
	return err
}

func (l *records) write(b Bucket, _ int, r Record) error {
	tx, u, err := l.both(b, r)
	if err != nil {
		return err
	}
	return l.users.Put(tx, u)
}

func (l *records) read(b Bucket, id int, into Record) error {
	tx, u, err := l.both(b, into)
	if err != nil {
		return err
	}
	return l.users.GetInto(tx, id, u)
}

func (l *records) readMany(b Bucket, first int, into []Record) error {
	tx, err := transaction(b)
	if err != nil {
		return err
	}
	n := 0
	low, high := tuple.Tuple{first}, tuple.Tuple{first + len(into)}
	for u, err := range l.users.Range(tx, low, high) {
		if err != nil {
			return err
		}
		if n == len(into) {
			return errEncoding
		}
		to, ok := into[n].whole.(*User)
		if !ok {
			return errEncoding
		}
		*to = *u
		n++
	}
	if n < len(into) {
		return missing(first + n)
	}
	return nil
}

func (l *records) update(b Bucket, id, field int, from Record) error {
	tx, err := transaction(b)
	if err != nil {
		return err
	}
	name := l.schema.names[field]
	switch p := from.fields[field].(type) {
	case *int64:
		return record.SetField(tx, l.users, id, name, *p)
	case *int32:
		return record.SetField(tx, l.users, id, name, *p)
	case *float64:
		return record.SetField(tx, l.users, id, name, *p)
	case *float32:
		return record.SetField(tx, l.users, id, name, *p)
	case *bool:
		return record.SetField(tx, l.users, id, name, *p)
	case *string:
		return record.SetField(tx, l.users, id, name, *p)
	}
	return errEncoding
}

// sum leaves numbers to the query, which decodes no other field.
func (l *records) sum(b Bucket, n, field int) (sum float64, err error) {
	tx, err := transaction(b)
	if err != nil {
		return 0, err
	}
	count, err := l.users.Count(tx)
	if err != nil {
		return 0, err
	}
	if count != uint64(n) {
		return 0, fmt.Errorf("%d records instead of %d", count, n)
	}
	switch l.scratch.fields[field].(type) {
	case *bool, *string:
		return l.sumDecoded(tx, field)
	}
	return l.users.Query().Sum(tx, l.schema.names[field])
}

// sumDecoded adds up what [number] makes of a field.
func (l *records) sumDecoded(tx *stoat.Tx, field int) (sum float64, err error) {
	u, ok := l.scratch.whole.(*User)
	if !ok {
		return 0, errEncoding
	}
	for r, err := range l.users.All(tx) {
		if err != nil {
			return 0, err
		}
		*u = *r
		sum += number(l.scratch.fields[field])
	}
	return sum, nil
}

// both returns the transaction of the root bucket, and the record's user.
func (l *records) both(b Bucket, r Record) (*stoat.Tx, *User, error) {
	tx, err := transaction(b)
	u, ok := r.whole.(*User)
	if err == nil && !ok {
		err = errEncoding
	}
	return tx, u, err
}

// transaction returns the Stoat transaction of a root bucket.
func transaction(b Bucket) (*stoat.Tx, error) {
	root, ok := b.(stoatBucket[*stoat.Tx])
	if !ok {
		return nil, errors.New("package record needs the root bucket of Stoat")
	}
	return root.space, nil
}
