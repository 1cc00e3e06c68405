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

// upgrade turns the stored collection, nil if it does not exist yet, into the wanted one, and makes
// c ready for use.
func (c *collection) upgrade(
	tx *stoat.Tx, stored, want *definition, migrate map[int]func(Row, reflect.Value) error,
) error {
	reset, err := c.matchSchemas(tx, stored, want)
	if err != nil {
		return err
	}
	if stored != nil && want.added == nil {
		c.edition = stored.edition
		want.Renamed, want.Traced = stored.Renamed, stored.Traced
		if stored.same(want) {
			return nil
		}
	}
	if !tx.Writable() {
		return fmt.Errorf("it must be created or updated, which takes a writable transaction: %w",
			stoat.ErrReadOnly)
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
	if !reset && want.Version == stored.Version {
		want.Renamed, want.Traced = stored.renames(c.shape), stored.Traced
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return err
	}
	c.edition = nextEdition(stored.edition, wanted, want.added)
	if reset {
		if err := c.dropSchemas(tx); err != nil {
			return err
		}
	}
	if err := c.redefine(tx, wanted, want.added); err != nil {
		return refuseCommit(tx, err)
	}
	return refuseCommit(tx, c.evolve(tx, stored, want, migrate, reset))
}

// matchSchemas compiles the stored schemas, and adds that of the type if it is new. Reset is true
// if the stored definition does not match but can be replaced, because there are no records.
func (c *collection) matchSchemas(
	tx *stoat.Tx, stored, want *definition,
) (reset bool, err error) {
	if stored == nil {
		return false, c.addSchema(nil, want)
	}
	if want.Version < stored.Version {
		return false, fmt.Errorf("it has version %d, newer than version %d of this program",
			stored.Version, want.Version)
	}
	schemas, err := loadSchemas(tx, c.name)
	if err != nil {
		return false, err
	}
	misfit := want.check(stored, c.shape)
	if misfit == nil && !hasNumber(schemas, stored.Schema) { // which another type would be given
		misfit = unknownSchema(stored.Schema)
	}
	if misfit == nil {
		if misfit = c.addSchema(schemas, want); misfit == nil {
			return false, nil
		}
	}
	empty, err := isEmpty(tx, c.name)
	if err != nil || !empty {
		return false, cmp.Or(err, misfit)
	}
	clear(c.schemas)
	if want.Schema = 0; c.codec == CodecBinary {
		want.Schema = stored.Schema // numbers are never reused
	}
	return true, c.addSchema(nil, want)
}

// hasNumber reports whether the schema with the given number is among the stored ones; 0 is none.
func hasNumber(schemas []*layout.Schema, number uint64) bool {
	return number == 0 || slices.ContainsFunc(schemas, func(s *layout.Schema) bool {
		return s.Number == number
	})
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

// metaOf returns the bucket meta of a collection.
func metaOf(tx *stoat.Tx, name string) (*stoat.Bucket, error) {
	root, err := tx.Bucket([]byte(name))
	if err != nil {
		return nil, err
	}
	return root.Bucket([]byte("meta"))
}

// dropSchemas removes all stored schemas.
func (c *collection) dropSchemas(tx *stoat.Tx) error {
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

// addSchema compiles all schemas. It sets the definition's current schema number, its digests, and
// its added schema if the current one is new.
func (c *collection) addSchema(schemas []*layout.Schema, want *definition) (err error) {
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
	want.Digests = map[uint64]string{}
	for _, schema := range schemas {
		want.Digests[schema.Number] = digest(schema)
		if c.schemas[schema.Number], err = newSchema(schema, c.shape); err != nil {
			return err
		}
	}
	c.current = c.schemas[want.Schema]
	if want.Schema < 1<<7 {
		c.head = byte(want.Schema)
	}
	c.layout = c.shape.layout.Numbered(want.Schema)
	return nil
}

// create creates the buckets of a collection.
func create(tx *stoat.Tx, name string) error {
	root, err := tx.CreateBucket([]byte(name))
	if err != nil {
		return err
	}
	meta, err := root.CreateBucket([]byte("meta"))
	if err != nil {
		return err
	}
	if n := sharedIn(tx, name).counter; n != nil { // of one deleted in this transaction
		n.meta, n.records = meta, 0
	}
	if err := markChecked(tx, meta); err != nil {
		return err
	}
	return meta.Put([]byte(countKey), make([]byte, 8))
}

// redefine stores a new definition, and the schema if it is new. It makes all other handles
// outdated.
func (c *collection) redefine(tx *stoat.Tx, wanted []byte, added *layout.Schema) error {
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

// nextEdition returns the edition of a definition that follows another one. It depends on the whole
// history, so that collections with the same edition store records in the same way.
func nextEdition(before uint64, wanted []byte, added *layout.Schema) uint64 {
	p := binary.LittleEndian.AppendUint64(nil, before)
	p = append(p, wanted...)
	if added != nil {
		p = added.Append(p)
	}
	sum := sha256.Sum256(p)
	return binary.LittleEndian.Uint64(sum[:])>>1 | 1 // not 0, and below the end of sequences
}

// evolve converts records and indexes to the new definition.
func (c *collection) evolve(
	tx *stoat.Tx, stored, want *definition, migrate map[int]func(Row, reflect.Value) error, reset bool,
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
	return c.updateIndexes(s, stored, want, migrated || reset)
}

// updateIndexes removes the stored indexes that are not wanted, and builds the missing ones; if
// rebuild is true, all of them.
func (c *collection) updateIndexes(s *session, stored, want *definition, rebuild bool) error {
	kept := map[string]bool{}
	for i := range stored.Indexes {
		old := &stored.Indexes[i]
		keep := func(f storedForm) bool { return f.equal(old) }
		if !rebuild && slices.ContainsFunc(want.Indexes, keep) {
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

// build fills empty indexes.
func (c *collection) build(s *session, missing []*index) error {
	if slices.ContainsFunc(missing, func(x *index) bool { return x.Unique }) {
		if err := c.sweepRecords(s); err != nil {
			return err
		}
	}
	r := c.newRecord()
	for key, value := range s.data.Scan(stoat.Range{}) {
		err := c.decode(value, r)
		for _, x := range missing {
			if err == nil {
				err = s.addEntries(x, key, r)
			}
		}
		if err != nil {
			return fmt.Errorf("index the record with the key %s: %w", formatKey(key), err)
		}
	}
	return s.tx.Err()
}
