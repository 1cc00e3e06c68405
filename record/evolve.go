package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
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
	added, anew, err := c.fit(tx, stored, want)
	if err != nil {
		return err
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if stored != nil && added == nil {
		c.edition = stored.edition
		if present, err := json.Marshal(stored); err != nil || string(present) == string(wanted) {
			return err
		}
	}
	if !tx.Writable() {
		return fmt.Errorf("it must be made, or brought up to date, which takes a transaction that "+
			"can write: %w", stoat.ErrReadOnly)
	}
	if stored == nil {
		stored = &definition{Version: want.Version}
		if err := create(tx, c.name); err != nil {
			return err
		}
	}
	c.edition = nextEdition(stored.edition, wanted, added)
	if anew {
		if err := c.dropSchemas(tx); err != nil {
			return err
		}
	}
	if err := c.redefine(tx, wanted, added); err != nil {
		return err
	}
	return c.evolve(tx, stored, want, migrate, anew)
}

// fit finds out how to read what is stored, and returns the schema of the type if it is a new one.
// Anew says that what is stored does not fit, but that nothing is lost without it, as there are no
// records.
func (c *Collection[T]) fit(
	tx *stoat.Tx, stored, want *definition,
) (added *layout.Schema, anew bool, err error) {
	if stored == nil {
		added, err = c.addSchema(nil, want)
		return added, false, err
	}
	if want.Version < stored.Version {
		return nil, false, fmt.Errorf("it is of version %d, newer than version %d of this program",
			stored.Version, want.Version)
	}
	schemas, err := loadSchemas(tx, c.name)
	if err != nil {
		return nil, false, err
	}
	misfit := want.check(stored, c.shape)
	if misfit == nil {
		if added, misfit = c.addSchema(schemas, want); misfit == nil {
			return added, false, nil
		}
	}
	empty, err := isEmpty(tx, c.name)
	if err != nil || !empty {
		return nil, false, cmp.Or(err, misfit)
	}
	clear(c.versions)
	if want.Schema = 0; c.codec == CodecBinary {
		want.Schema = stored.Schema // numbers do not come again
	}
	added, err = c.addSchema(nil, want)
	return added, true, err
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

// addSchema compiles how to read records of all schemas, and returns the present one if it is not
// among them. The definition gets its number.
func (c *Collection[T]) addSchema(
	schemas []*layout.Schema, want *definition,
) (added *layout.Schema, err error) {
	if c.codec != CodecBinary {
		return nil, nil
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
		schemas, added = append(schemas, present), present
	}
	for _, schema := range schemas {
		if c.versions[schema.Number], err = newVersion(schema, c.shape); err != nil {
			return nil, err
		}
	}
	c.current = c.versions[want.Schema]
	if want.Schema < 1<<7 {
		c.head = byte(want.Schema)
	}
	c.layout = c.shape.layout.Numbered(want.Schema)
	return added, nil
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
		if err := c.migrate(s, stored.Version, want, migrate); err != nil {
			return err
		}
	}
	return c.bringIndexes(s, stored, want, migrated || anew)
}

// migrate makes all records anew, and removes the schemas that none of them has any more.
func (c *Collection[T]) migrate(
	s *session, from int, want *definition, migrate map[int]func(Row, *T) error,
) error {
	fn := migrate[from]
	empty, err := isEmpty(s.tx, c.name)
	if err != nil {
		return err
	}
	if fn == nil && !empty {
		return fmt.Errorf("it is of version %d: Options.Migrate needs a function for %d that makes "+
			"records of version %d", from, from, want.Version)
	}
	for key, value := range s.data.Scan(stoat.Range{}) {
		if err := c.migrateRecord(s, key, value, fn); err != nil {
			return fmt.Errorf("migrate the record with the key %s: %w", formatKey(key), err)
		}
	}
	if err := s.tx.Err(); err != nil {
		return err
	}
	for number := range c.versions {
		if number == want.Schema {
			continue
		}
		key := schemaPrefix + strconv.FormatUint(number, 10)
		if err := s.meta.Delete([]byte(key)); err != nil {
			return err
		}
		delete(c.versions, number)
	}
	return nil
}

func (c *Collection[T]) migrateRecord(
	s *session, key, value []byte, fn func(Row, *T) error,
) error {
	r := new(T)
	if err := c.decode(value, r); err != nil {
		if c.codec == CodecBinary {
			return err
		}
		r = new(T) // the function makes all of it, of what is stored
	}
	old := Row{record: value, key: key, shape: c.shape, stored: true}
	var err error
	if c.codec == CodecBinary {
		if old.version, err = c.versionOf(value); err != nil {
			return err
		}
	}
	if err := fn(old, r); err != nil {
		return err
	}
	if s.key, err = c.appendKeyOf(s.key[:0], r); err != nil {
		return err
	}
	if string(s.key) != string(key) {
		return fmt.Errorf("its key would become %s: migrate without changing keys",
			formatKey(s.key))
	}
	if s.value, err = c.encode(s.value[:0], r); err != nil {
		return err
	}
	return s.data.Put(key, s.value)
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
		if err := s.data.DeleteBucket((&index{Index: Index{Name: old.Name}}).bucket()); err != nil {
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
	r := new(T)
	for key, value := range s.data.Scan(stoat.Range{}) {
		err := c.decode(value, r)
		for _, x := range missing {
			if err == nil {
				err = c.addEntries(s, x, key, r)
			}
		}
		if err != nil {
			return fmt.Errorf("index the record with the key %s: %w", formatKey(key), err)
		}
	}
	return s.tx.Err()
}
