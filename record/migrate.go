package record

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// migrate makes all records anew, and removes the schemas that none of them has any more.
func (c *Collection[T]) migrate(
	s *session, stored, want *definition, migrate map[int]func(Row, *T) error,
) error {
	from := stored.Version
	fn := migrate[from]
	empty, err := isEmpty(s.tx, c.name)
	if err != nil {
		return err
	}
	if fn == nil && !empty {
		return fmt.Errorf("it is of version %d: Options.Migrate needs a function for %d that makes "+
			"records of version %d", from, from, want.Version)
	}
	schemas, err := loadSchemas(s.tx, c.name)
	if err != nil {
		return err
	}
	schemas = slices.DeleteFunc(schemas, func(schema *layout.Schema) bool {
		return want.added != nil && schema.Number == want.Schema // no record has it
	})
	past := layout.NewPast(schemas, stored.renames(c.shape), stored.Traced)
	for key, value := range s.data.Scan(stoat.Range{}) {
		if err := c.migrateRecord(s, key, value, past, fn); err != nil {
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
	s *session, key, value []byte, past *layout.Past, fn func(Row, *T) error,
) error {
	r := new(T)
	if err := c.decode(value, r); err != nil {
		if c.codec == CodecBinary {
			return err
		}
		r = new(T) // the function makes all of it, of what is stored
	}
	old := Row{record: value, key: key, shape: c.shape, past: past}
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
