package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// bring makes what is stored, which is nil if there is nothing, into what is wanted, and the
// collection ready.
func (c *Collection[T]) bring(
	tx *stoat.Tx, stored, want *definition, migrate map[int]func(Row, *T) error,
) error {
	anew, err := c.fit(tx, stored, want)
	if err != nil {
		return err
	}
	if stored != nil && want.added == nil {
		c.edition = stored.edition
		want.Renamed, want.Traced = stored.Renamed, stored.Traced
		if same, err := stored.same(want); same || err != nil {
			return err
		}
	}
	if !tx.Writable() {
		return fmt.Errorf("it must be made, or brought up to date, which takes a transaction that "+
			"can write: %w", stoat.ErrReadOnly)
	}
	if stored == nil {
		if err := refuseLost(tx); err != nil {
			return err
		}
		stored = &definition{Version: want.Version, Traced: true}
		if err := create(tx, c.name); err != nil {
			return err
		}
	}
	want.Renamed, want.Traced = nil, true
	if !anew && want.Version == stored.Version {
		want.Renamed, want.Traced = stored.renames(c.shape), stored.Traced
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return err
	}
	c.edition = nextEdition(stored.edition, wanted, want.added)
	if anew {
		if err := c.dropSchemas(tx); err != nil {
			return err
		}
	}
	if err := c.redefine(tx, wanted, want.added); err != nil {
		return refuseCommit(tx, err)
	}
	return refuseCommit(tx, c.evolve(tx, stored, want, migrate, anew))
}

// fit finds out how to read what is stored, and adds the schema of the type if it is a new one.
// Anew says that what is stored does not fit, but that nothing is lost without it, as there are no
// records.
func (c *Collection[T]) fit(tx *stoat.Tx, stored, want *definition) (anew bool, err error) {
	if stored == nil {
		return false, c.addSchema(nil, want)
	}
	if want.Version < stored.Version {
		return false, fmt.Errorf("it is of version %d, newer than version %d of this program",
			stored.Version, want.Version)
	}
	schemas, err := loadSchemas(tx, c.name)
	if err != nil {
		return false, err
	}
	misfit := want.check(stored, c.shape)
	if misfit == nil {
		if misfit = c.addSchema(schemas, want); misfit == nil {
			return false, nil
		}
	}
	empty, err := isEmpty(tx, c.name)
	if err != nil || !empty {
		return false, cmp.Or(err, misfit)
	}
	clear(c.versions)
	if want.Schema = 0; c.codec == CodecBinary {
		want.Schema = stored.Schema // numbers do not come again
	}
	return true, c.addSchema(nil, want)
}

// isEmpty reports whether the collection has no records.
func isEmpty(tx *stoat.Tx, name string) (bool, error) {
	root, err := tx.Bucket([]byte(name))
	if err != nil {
		return false, err
	}
	for range root.Keys(stoat.Range{Limit: 1}) {
		return false, nil
	}
	return true, tx.Err()
}

// metaOf returns the bucket of the definition of a collection, of its schemas and its count.
func metaOf(tx *stoat.Tx, name string) (*stoat.Bucket, error) {
	root, err := tx.Bucket([]byte(name))
	if err != nil {
		return nil, err
	}
	return root.Bucket([]byte("meta"))
}

// dropSchemas removes all stored schemas.
func (c *Collection[T]) dropSchemas(tx *stoat.Tx) error {
	meta, err := metaOf(tx, c.name)
	if err != nil {
		return err
	}
	return meta.DeleteRange(stoat.Prefix([]byte(schemaPrefix)))
}

// loadSchemas returns the stored schemas.
func loadSchemas(tx *stoat.Tx, name string) ([]*layout.Schema, error) {
	meta, err := metaOf(tx, name)
	if err != nil {
		return nil, err
	}
	var all []*layout.Schema
	for key, p := range meta.Scan(stoat.Prefix([]byte(schemaPrefix))) {
		schema, err := layout.ParseSchema(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, schema)
	}
	return all, tx.Err()
}

// addSchema compiles how to read records of all schemas. The definition gets the number of the
// present one, and the schema itself if it is not among them.
func (c *Collection[T]) addSchema(schemas []*layout.Schema, want *definition) (err error) {
	if c.codec != CodecBinary {
		return nil
	}
	present := c.shape.layout.Schema()
	for _, schema := range schemas {
		want.Schema = max(want.Schema, schema.Number)
	}
	at := slices.IndexFunc(schemas, present.Equal)
	if at >= 0 {
		want.Schema = schemas[at].Number
	} else {
		want.Schema++
		present.Number = want.Schema
		schemas, want.added = append(schemas, present), present
	}
	for _, schema := range schemas {
		if c.versions[schema.Number], err = newVersion(schema, c.shape); err != nil {
			return err
		}
	}
	c.current = c.versions[want.Schema]
	if want.Schema < 1<<7 {
		c.head = byte(want.Schema)
	}
	c.layout = c.shape.layout.Numbered(want.Schema)
	return nil
}

// create makes the buckets of a collection. Records are in the one that has its name.
func create(tx *stoat.Tx, name string) error {
	root, err := tx.CreateBucket([]byte(name))
	if err != nil {
		return err
	}
	meta, err := root.CreateBucket([]byte("meta"))
	if err != nil {
		return err
	}
	if n := sharedIn(tx, name).counter; n != nil { // of one that the transaction has deleted
		n.meta, n.records = meta, 0
	}
	if err := keepChecked(tx, meta); err != nil {
		return err
	}
	return meta.Put([]byte(countKey), make([]byte, 8))
}

// redefine stores a new definition, and the schema if it is new, which puts all other handles out
// of date.
func (c *Collection[T]) redefine(tx *stoat.Tx, wanted []byte, added *layout.Schema) error {
	meta, err := metaOf(tx, c.name)
	if err != nil {
		return err
	}
	if added != nil {
		key := schemaPrefix + strconv.FormatUint(added.Number, 10)
		if err := meta.Put([]byte(key), added.Append(nil)); err != nil {
			return err
		}
	}
	if err := meta.Put([]byte(definitionKey), wanted); err != nil {
		return err
	}
	sharedIn(tx, c.name).evolved++
	return meta.SetSequence(c.edition)
}

// nextEdition returns the edition of a definition that follows another one. It depends on all that
// went before, so that no two collections have the same, unless they store records in the same way.
func nextEdition(before uint64, wanted []byte, added *layout.Schema) uint64 {
	p := binary.LittleEndian.AppendUint64(nil, before)
	p = append(p, wanted...)
	if added != nil {
		p = added.Append(p)
	}
	sum := sha256.Sum256(p)
	return binary.LittleEndian.Uint64(sum[:])>>1 | 1 // not 0, and sequences end at the highest
}

// evolve makes what is stored fit the new definition.
func (c *Collection[T]) evolve(
	tx *stoat.Tx, stored, want *definition, migrate map[int]func(Row, *T) error, anew bool,
) error {
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	migrated := stored.Version != want.Version
	if migrated {
		if err := c.migrate(s, stored, want, migrate); err != nil {
			return err
		}
	}
	return c.bringIndexes(s, stored, want, migrated || anew)
}

// bringIndexes removes the stored indexes that are not wanted, and builds those that are missing;
// if anew is true, all of them.
func (c *Collection[T]) bringIndexes(s *session, stored, want *definition, anew bool) error {
	kept := map[string]bool{}
	for i := range stored.Indexes {
		old := &stored.Indexes[i]
		keep := func(f storedForm) bool { return f.equal(old) }
		if !anew && slices.ContainsFunc(want.Indexes, keep) {
			kept[old.Name] = true
			continue
		}
		err := s.data.DeleteBucket((&index{Index: Index{Name: old.Name}}).bucket())
		if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) { // a salvage may have lost it
			return err
		}
	}
	var missing []*index
	for _, x := range c.shape.indexes {
		if kept[x.Name] {
			continue
		}
		if _, err := s.data.CreateBucket(x.bucket()); err != nil {
			return err
		}
		missing = append(missing, x)
	}
	if len(missing) == 0 {
		return nil
	}
	return c.build(s, missing)
}

// build fills indexes that are empty.
func (c *Collection[T]) build(s *session, missing []*index) error {
	if slices.ContainsFunc(missing, func(x *index) bool { return x.Unique }) {
		if err := c.sweepRecords(s); err != nil {
			return err
		}
	}
	r := new(T)
	for key, value := range s.data.Scan(stoat.Range{}) {
		err := c.decode(value, r)
		for _, x := range missing {
			if err == nil {
				err = s.addEntries(x, key, reflect.ValueOf(r).Elem())
			}
		}
		if err != nil {
			return fmt.Errorf("index the record with the key %s: %w", formatKey(key), err)
		}
	}
	return s.tx.Err()
}
