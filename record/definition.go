package record

import (
	"crypto/sha256"
	"encoding/hex"
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
	schemaPrefix  = "schema " // and the number in decimal; the value is a layout.Schema
	salvageKey    = "salvage" // the salvage after which it was checked, uvarint
)

// definition describes a collection, as stored in JSON.
type definition struct {
	Format  int          `json:"format"` // 1
	Codec   string       `json:"codec"`
	Version int          `json:"version"`
	Schema  uint64       `json:"schema,omitempty"` // of new records; 0 if the codec has no schemas
	Key     []storedKey  `json:"key,omitempty"`    // empty if a function returns the key
	Indexes []storedForm `json:"indexes,omitempty"`
	// Renamed maps former names of fields to later ones, and Traced says that it covers all
	// schemas; older versions of this package did not store them.
	Renamed map[string]string `json:"renamed,omitempty"`
	Traced  bool              `json:"traced,omitempty"`
	// Digests are those of the schemas, by number, and of some that a migration has removed; older
	// versions of this package did not store them.
	Digests map[uint64]string `json:"digests,omitempty"`

	edition uint64         // identifies the definition: the sequence of the bucket meta
	added   *layout.Schema // the schema numbered Schema, if it must be stored
}

// digest returns what proves that a schema, which was lost, is the one that was stored.
func digest(s *layout.Schema) string {
	sum := sha256.Sum256(s.Append(nil))
	return hex.EncodeToString(sum[:8])
}

// storedKey is a key field of a stored definition.
type storedKey struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Auto  bool   `json:"auto,omitempty"` // the collection assigns it
}

// storedForm is an index of a stored definition.
type storedForm struct {
	Name    string   `json:"name"`
	Fields  []string `json:"fields"`
	Classes []string `json:"classes"`
	Unique  bool     `json:"unique,omitempty"`
}

// define returns the definition of a collection with the given shape.
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

// form returns the stored form of the index.
func (x *index) form() storedForm {
	f := storedForm{Name: x.Name, Fields: x.Fields, Unique: x.Unique}
	for _, c := range x.columns {
		f.Classes = append(f.Classes, c.class())
	}
	return f
}

// equal reports whether two indexes have the same entries.
func (f *storedForm) equal(g *storedForm) bool {
	return f.Name == g.Name && f.Unique == g.Unique && slices.Equal(f.Fields, g.Fields) &&
		slices.Equal(f.Classes, g.Classes)
}

// same reports whether two definitions have the same stored form.
func (d *definition) same(other *definition) bool {
	return d.Format == other.Format && d.Codec == other.Codec && d.Version == other.Version &&
		d.Schema == other.Schema && slices.Equal(d.Key, other.Key) &&
		slices.EqualFunc(d.Indexes, other.Indexes, func(f, g storedForm) bool { return f.equal(&g) }) &&
		maps.Equal(d.Renamed, other.Renamed) && d.Traced == other.Traced
}

// loadDefinition returns the stored definition, or nil if the collection does not exist.
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
		return nil, errors.New("a bucket of this name exists that is not a collection: choose " +
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

// check returns an error if a collection with the stored definition cannot become one with
// definition d. Key fields may be renamed with the tag option was.
func (d *definition) check(stored *definition, s *shape) error {
	if d.Codec != stored.Codec {
		return fmt.Errorf("it was created with the codec %s, not %s: open it with that codec, or "+
			"copy the records into a new collection", stored.Codec, d.Codec)
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

// renamed reports whether old is a former name of the field.
func (s *shape) renamed(name, old string) bool {
	c, err := s.column(name)
	return err == nil && slices.Contains(c.was, old)
}

// renames returns the mapping from former to later names of fields: the stored one, updated by the
// tags of the type.
func (d *definition) renames(s *shape) map[string]string {
	all := map[string]string{}
	maps.Copy(all, d.Renamed)
	for i := range s.columns {
		for _, old := range s.columns[i].was {
			delete(all, s.columns[i].name) // now the latest name
			all[old] = s.columns[i].name
		}
	}
	return all
}

// formatFields returns the fields of a key as text for messages.
func formatFields(key []storedKey) string {
	if len(key) == 0 {
		return "returned by a function"
	}
	var list []string
	for _, k := range key {
		list = append(list, k.Name+" ("+k.Class+")")
	}
	return strings.Join(list, ", ")
}
