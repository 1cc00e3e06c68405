package record

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// Stored is a collection opened without the Go type of its records, for reading them by what is
// stored about the type. It is immutable and safe for concurrent use; transactions are not. A
// change of the collection's fields, indexes or options makes it [ErrOutdated].
type Stored struct {
	c      *collection
	stored *definition
}

// StoredField describes a field of a stored collection.
type StoredField struct {
	Name string // as in tags; with the path of structs around it, as in "home.city"
	// Type is the stored type, such as int32, string, uuid, "list of string", "optional time" or
	// map[string]int64. Of the key of a collection that is not stored with CodecBinary, only the
	// class is known, such as integer.
	Type string
	Auto bool // the collection assigns it
}

// OpenStored opens a stored collection for reading, without the Go type of its records: for tools,
// and for programs that show any database. Queries run as those of the typed collection do, over
// records of all schemas, with the same plans, except that of equally good indexes in
// [Options.Indexes] they may take another. It does not check a collection on a salvaged database,
// as [Open] does.
//
// Only the type says which field has the tag option expires, and only the program knows a function
// that returns keys or migrates: expired records are there until they are swept, and a field that
// was renamed has its last name. With [CodecJSON] and [CodecGob], nothing is stored about the
// fields: a query without predicates lists the records in the order of their keys, and [Row.Stored]
// has each as JSON, or gob.
//
// The error is [stoat.ErrBucketNotFound] if there is no such bucket.
func OpenStored(tx *stoat.Tx, name string) (*Stored, error) {
	s, err := openStored(tx, name)
	if err != nil {
		return nil, fmt.Errorf("open collection %q: %w", name, err)
	}
	return s, nil
}

func openStored(tx *stoat.Tx, name string) (*Stored, error) {
	d, err := loadDefinition(tx, name)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, stoat.ErrBucketNotFound
	}
	c, err := d.openUntyped(tx, name)
	if err != nil {
		return nil, err
	}
	return &Stored{c, d}, nil
}

// Name returns the collection's name.
func (s *Stored) Name() string { return s.c.name }

// Codec returns how the records are encoded.
func (s *Stored) Codec() Codec { return s.c.codec }

// Count returns the number of records that are stored, including those that have expired.
func (s *Stored) Count(tx *stoat.Tx) (uint64, error) { return s.c.count(tx) }

// Query returns the query for all records. Its rows and records are the same; it cannot change any.
func (s *Stored) Query() Query[Row] { return Query[Row]{query{c: s.c}} }

// Fields returns the fields of new records; none if the codec is not [CodecBinary].
func (s *Stored) Fields() []StoredField {
	if s.c.layout == nil {
		return nil
	}
	var all []StoredField
	for _, f := range s.c.layout.Fields() {
		auto := s.c.shape.auto != nil && s.c.shape.auto.name == f.Name
		all = append(all, StoredField{f.Name, f.Stored.String(), auto})
	}
	return all
}

// Key returns the fields of the primary key; none if a function returns it.
func (s *Stored) Key() []StoredField {
	fields := s.Fields()
	var key []StoredField
	for _, k := range s.stored.Key {
		at := slices.IndexFunc(fields, func(f StoredField) bool { return f.Name == k.Name })
		if at < 0 {
			key = append(key, StoredField{k.Name, k.Class, k.Auto})
			continue
		}
		key = append(key, fields[at])
	}
	return key
}

// Indexes returns the indexes, those that tags create among them.
func (s *Stored) Indexes() []Index {
	var all []Index
	for _, x := range s.stored.Indexes {
		all = append(all, Index{Name: x.Name, Fields: slices.Clone(x.Fields), Unique: x.Unique})
	}
	return all
}
