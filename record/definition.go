package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// The keys of the bucket meta.
const (
	definitionKey = "definition"
	countKey      = "count"   // 8 bytes, little-endian
	schemaPrefix  = "schema " // and then the number in decimal: what layout.Schema.Append returns
	salvageKey    = "salvage" // the number of the salvage since which it was checked, uvarint
)

// definition is what a collection is, as it is stored in JSON.
type definition struct {
	Format  int          `json:"format"` // 1
	Codec   string       `json:"codec"`
	Version int          `json:"version"`
	Schema  uint64       `json:"schema,omitempty"` // what new records have; 0 without schemas
	Key     []storedKey  `json:"key,omitempty"`    // none if a function returns it
	Indexes []storedForm `json:"indexes,omitempty"`
	// Renamed has the later names of fields by the former ones, and Traced says that it has those of
	// all schemas; older versions of this package did not store them.
	Renamed map[string]string `json:"renamed,omitempty"`
	Traced  bool              `json:"traced,omitempty"`

	edition uint64         // which one this is: the sequence of the bucket meta
	added   *layout.Schema // the one of the number Schema if it is to be stored
}

// storedKey is a field of the key.
type storedKey struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Auto  bool   `json:"auto,omitempty"` // the collection gives it
}

// storedForm is an index.
type storedForm struct {
	Name    string   `json:"name"`
	Fields  []string `json:"fields"`
	Classes []string `json:"classes"`
	Unique  bool     `json:"unique,omitempty"`
}

// define returns the definition of a collection of the shape.
func define(s *shape, codec Codec, version int) *definition {
	d := &definition{Format: 1, Codec: codec.String(), Version: version}
	for _, c := range s.key {
		d.Key = append(d.Key, storedKey{c.name, c.class(), c == s.auto})
	}
	for _, x := range s.indexes {
		d.Indexes = append(d.Indexes, x.form())
	}
	slices.SortFunc(d.Indexes, func(a, b storedForm) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// form returns what is stored of an index.
func (x *index) form() storedForm {
	f := storedForm{Name: x.Name, Fields: x.Fields, Unique: x.Unique}
	for _, c := range x.columns {
		f.Classes = append(f.Classes, c.class())
	}
	return f
}

// equal reports whether the entries of two indexes are the same.
func (f *storedForm) equal(g *storedForm) bool {
	return f.Name == g.Name && f.Unique == g.Unique && slices.Equal(f.Fields, g.Fields) &&
		slices.Equal(f.Classes, g.Classes)
}

// same reports whether two definitions are stored in the same form.
func (d *definition) same(other *definition) (bool, error) {
	one, err := json.Marshal(d)
	if err != nil {
		return false, err
	}
	two, err := json.Marshal(other)
	return string(one) == string(two), err
}

// load returns the stored definition, or nil if there is no such collection.
func loadDefinition(tx *stoat.Tx, name string) (*definition, error) {
	root, err := tx.Bucket([]byte(name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	meta, err := root.Bucket([]byte("meta"))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, errors.New("there is a bucket of this name that is no collection: choose " +
			"another name")
	}
	if err != nil {
		return nil, err
	}
	p, err := meta.Get([]byte(definitionKey))
	if err != nil {
		return nil, fmt.Errorf("read its definition: %w", err)
	}
	d := &definition{}
	if err := json.Unmarshal(p, d); err != nil {
		return nil, fmt.Errorf("its definition: %w: %w", err, stoat.ErrCorrupt)
	}
	if d.Format != 1 {
		return nil, fmt.Errorf("its format is %d, of a newer version of this package: %w", d.Format,
			stoat.ErrFormat)
	}
	d.edition, err = meta.Sequence()
	return d, err
}

// check returns an error if a collection of the stored definition cannot become one of d. Was has
// the old names of key fields.
func (d *definition) check(stored *definition, s *shape) error {
	if d.Codec != stored.Codec {
		return fmt.Errorf("it was made with the codec %s, not %s: open it with that, or copy the "+
			"records into a new collection", stored.Codec, d.Codec)
	}
	same := slices.EqualFunc(d.Key, stored.Key, func(k, old storedKey) bool {
		return k.Class == old.Class && (k.Name == old.Name || s.renamed(k.Name, old.Name))
	})
	if !same {
		return fmt.Errorf("its key is %s, not %s: keep the key, or copy the records into a new "+
			"collection", formatFields(stored.Key), formatFields(d.Key))
	}
	return nil
}

// renamed reports whether a field had the old name.
func (s *shape) renamed(name, old string) bool {
	c, err := s.column(name)
	return err == nil && slices.Contains(c.was, old)
}

// renames returns the later names of fields by the former ones: those that are stored, and those
// that the tags of the type tell.
func (d *definition) renames(s *shape) map[string]string {
	all := map[string]string{}
	maps.Copy(all, d.Renamed)
	for i := range s.columns {
		for _, old := range s.columns[i].was {
			delete(all, s.columns[i].name) // it is the last name now
			all[old] = s.columns[i].name
		}
	}
	return all
}

// formatFields returns the fields of a key for people.
func formatFields(key []storedKey) string {
	if len(key) == 0 {
		return "what a function returns"
	}
	var list []string
	for _, k := range key {
		list = append(list, k.Name+" ("+k.Class+")")
	}
	return strings.Join(list, ", ")
}
