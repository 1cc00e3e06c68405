package replica

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/internal/tap"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// collection is a collection of a space as its replica sees it. It is immutable, apart from what it
// remembers of the last lookup.
type collection struct {
	space   *Space
	name    string // in the space
	number  uint32
	tap     *tap.Tap
	columns []column
	names   []string // of the columns
	key     []keyPart
	schemas map[uint64]*schema // by number
	layout  *layout.Schema     // of the type; nil if the program has not opened the collection
	current *schema            // the stored one that equals layout

	records atomic.Pointer[stoat.Ref] // the bucket of the records, as last looked up
}

// schema is a schema of stored records. It is immutable.
type schema struct {
	number  uint64
	values  *value.Schema
	columns []int          // the fields of the collection's columns; −1: it has none
	key     []int          // the fields of the key
	byName  map[string]int // all fields, by their first names
}

// Collection opens the collection of a name in a space, and creates it if it does not exist: a
// [record.Collection], stored under the name of the space, a slash, and its own name. Open every
// collection before entries of others are applied; records of a collection that is not open wait
// for that.
//
// Fields merge by the tag option merge=RULE; see the package comment. What cannot hold on replicas
// that are apart is refused: unique indexes, assigned keys, records that expire, migrations. Write
// to the collection only through what Collection returned: what [record.Open] of the same name
// changes is not replicated.
func Collection[T any](
	s *Space, name string, opts *record.Options[T],
) (*record.Collection[T], error) {
	c, err := openCollection(s, name, opts)
	if err != nil {
		return nil, fmt.Errorf("space %q, collection %q: %w", s.name, name, err)
	}
	return c, nil
}

func openCollection[T any](
	s *Space, name string, opts *record.Options[T],
) (*record.Collection[T], error) {
	if opts == nil {
		opts = &record.Options[T]{}
	}
	if name == "" || len(name) > 255 {
		return nil, errors.New("the name of a collection has 1 to 255 bytes")
	}
	typ, err := typeOf(opts)
	if err != nil {
		return nil, err
	}
	var records *record.Collection[T]
	var c *collection
	open := func(tx *stoat.Tx) (err error) {
		c = &collection{space: s, name: name, tap: &tap.Tap{}}
		c.setType(typ)
		c.tap.Before = c.before
		if err = s.holdsOrFails(tx, name); err != nil {
			return err
		}
		if err = c.wantRecords(tx); err != nil {
			return err
		}
		tap.Attach(tx, c.stored(), c.tap)
		if records, err = record.OpenTx(tx, c.stored(), opts); err != nil {
			return err
		}
		return c.attach(tx)
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	err = s.db.View(open)
	if errors.Is(err, stoat.ErrReadOnly) {
		if err = s.db.Update(open); errors.Is(err, stoat.ErrReadOnly) {
			err = fmt.Errorf("open it once where the database can be written to, with this type: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.collections[name] = c
	s.mu.Unlock()
	return records, nil
}

// setType sets what is known of the collection by its type.
func (c *collection) setType(typ *recordType) {
	c.columns, c.key, c.layout = typ.columns, typ.key, typ.layout
	for i := range c.columns {
		c.names = append(c.names, c.columns[i].name)
	}
}

// stored returns the name of the collection of records.
func (c *collection) stored() string { return c.space.name + "/" + c.name }

// gone returns an error about records that are missing, though the collection has them: somebody
// has dropped their bucket, or deleted them there.
func (c *collection) gone() error {
	return fmt.Errorf("the bucket %q of the records of collection %q was dropped, or changed past "+
		"the collection: the entries of the space have all of it, so Export the space, Join it under "+
		"another name, and Import the file there; or join it and Sync: %w", c.stored(), c.name,
		stoat.ErrCorrupt)
}

// mayLackRecords returns nil if a collection need not have a bucket of its records, because nobody
// has opened it.
func (t *txn) mayLackRecords(c *collection) error {
	opened, err := t.meta.Has(keyed(nil, prefixNames, c.number))
	if opened {
		err = c.gone()
	}
	return err
}

// wantRecords returns an error if the collection was opened before, and its records are gone.
func (c *collection) wantRecords(tx *stoat.Tx) error {
	_, err := tx.Bucket([]byte(c.stored()))
	if !errors.Is(err, stoat.ErrBucketNotFound) {
		return err
	}
	t, err := c.space.in(tx)
	if err != nil {
		return err
	}
	if c.number, err = t.number(prefixCollection + c.name); missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.mayLackRecords(c)
}

// attach reads what the space knows of the collection, and brings the records up to date with the
// state if the type is another one than before, or if the collection was not open when entries
// arrived.
func (c *collection) attach(tx *stoat.Tx) error {
	t, err := c.space.in(tx)
	if err != nil {
		return err
	}
	if c.number, err = t.collectionNumber(c.name); err != nil {
		return err
	}
	described := c.describe()
	stored, err := t.meta.Get(keyed(nil, prefixType, c.number))
	if err != nil && !missing(err) {
		return err
	}
	current := err == nil && string(stored) == string(described)
	if !current && !tx.Writable() {
		return stoat.ErrReadOnly
	}
	if !current {
		if err := t.keepNames(c); err != nil {
			return err
		}
	}
	if err := c.loadSchemas(t); err != nil || current {
		return err
	}
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	if _, lacking := lacks[c.name]; !lacking {
		if err := t.project(c); err != nil {
			return err
		}
	}
	return t.meta.Put(keyed(nil, prefixType, c.number), described)
}

// describe returns text that is the same for types with the same fields and rules.
func (c *collection) describe() []byte {
	var p []byte
	for i := range c.columns {
		p = wire.AppendBytes(p, c.columns[i].all[0])
		p = wire.AppendBytes(p, c.columns[i].name)
		p = wire.AppendBytes(append(p, byte(c.columns[i].kind)), c.columns[i].typ.String())
	}
	return p
}

// opened returns a collection that the program has opened, or nil.
func (s *Space) opened(name string) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collections[name]
}

// collectionNumber returns the number of a collection, which it assigns in a writable transaction.
func (t *txn) collectionNumber(name string) (uint32, error) {
	if n := t.collections[name]; n != 0 {
		return n, nil
	}
	if c := t.space.opened(name); c != nil {
		return c.number, nil
	}
	key := prefixCollection + name
	n, err := t.number(key)
	if err == nil {
		if t.collections == nil {
			t.collections = map[string]uint32{}
		}
		t.collections[name] = n
		return n, nil
	}
	if !missing(err) {
		return 0, err
	}
	if !t.tx.Writable() {
		return 0, stoat.ErrReadOnly
	}
	next, err := t.states.NextSequence()
	if err != nil {
		return 0, err
	}
	t.assigned = true
	return uint32(next), t.putNumber(key, uint32(next))
}

// keepNames remembers by which names stored records have a column, for when no type says it.
func (t *txn) keepNames(c *collection) error {
	key := keyed(nil, prefixNames, c.number)
	known, err := t.firstNames(c.number)
	if err != nil {
		return err
	}
	var p []byte
	for i := range c.columns {
		for _, name := range c.columns[i].all {
			known[name] = c.columns[i].name
		}
	}
	for name, first := range known {
		p = wire.AppendBytes(wire.AppendBytes(p, name), first)
	}
	return t.meta.Put(key, p)
}

// firstNames returns the first names of fields by the names that stored records have them under.
func (t *txn) firstNames(collection uint32) (map[string]string, error) {
	p, err := t.meta.Get(keyed(nil, prefixNames, collection))
	if err != nil && !missing(err) {
		return nil, err
	}
	names := map[string]string{}
	r := wire.NewReader(p)
	for r.Len() > 0 {
		name := string(r.Bytes(0, 1<<16))
		names[name] = string(r.Bytes(0, 1<<16))
	}
	return names, r.End()
}

// loadSchemas compiles the schemas of the stored records.
func (c *collection) loadSchemas(t *txn) error {
	b, err := t.tx.Bucket([]byte(c.stored()))
	if err != nil {
		return err
	}
	if b, err = b.Bucket([]byte("meta")); err != nil {
		return err
	}
	first, err := t.firstNames(c.number)
	if err != nil {
		return err
	}
	c.schemas = map[uint64]*schema{}
	for key, p := range b.Scan(stoat.Prefix([]byte("schema "))) {
		number, err := strconv.ParseUint(string(key[len("schema "):]), 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a schema: %w", key, stoat.ErrCorrupt)
		}
		stored, err := layout.ParseSchema(p)
		if err != nil {
			return err
		}
		c.schemas[number] = c.newSchema(stored, first)
		if c.layout != nil && c.layout.Equal(stored) {
			c.current = c.schemas[number]
		}
	}
	return t.tx.Err()
}

// newSchema compiles a schema of stored records.
func (c *collection) newSchema(stored *layout.Schema, first map[string]string) *schema {
	s := &schema{number: stored.Number, values: value.NewSchema(stored), byName: map[string]int{}}
	for i, f := range stored.Fields {
		name := f.Name
		if known, ok := first[name]; ok {
			name = known
		}
		s.byName[name] = i
	}
	for i := range c.columns {
		field, ok := s.byName[c.columns[i].name]
		if !ok {
			field = -1
		}
		s.columns = append(s.columns, field)
	}
	for _, k := range c.key {
		for _, name := range k.all {
			for i, f := range stored.Fields {
				if f.Name == name {
					s.key = append(s.key, i)
				}
			}
		}
	}
	return s
}

// schemaOf returns the schema of a stored record.
func (c *collection) schemaOf(stored []byte) (*schema, error) {
	number, err := layout.Number(stored)
	if err != nil {
		return nil, err
	}
	if s := c.schemas[number]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("a record has the unknown schema %d: %w", number, record.ErrOutdated)
}

// collection returns a collection that the program has opened; or else one that has states only,
// whose records are brought up to date when it is opened.
func (t *txn) collection(name string) (*collection, error) {
	lacks, err := t.lacks()
	if err != nil {
		return nil, err
	}
	_, lacking := lacks[name]
	c := t.space.opened(name)
	if c != nil && !lacking {
		return c, nil
	}
	number, err := t.collectionNumber(name)
	if err != nil {
		return nil, err
	}
	if c, err = t.reader(name, number); err != nil || lacking {
		return c, err
	}
	return c, t.meta.Delete(keyed(nil, prefixType, number))
}

// reader returns a collection with which states can be read, and saved without their records.
func (t *txn) reader(name string, number uint32) (*collection, error) {
	c := &collection{space: t.space, name: name, number: number}
	if err := c.loadSchemas(t); err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, err
	}
	return c, nil
}
