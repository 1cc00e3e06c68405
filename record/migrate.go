package record

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// migrate converts all records to the wanted version, and removes the schemas that no record has
// any more.
func (c *collection) migrate(
	s *session, stored, want *definition, migrate map[int]func(Row, reflect.Value) error,
) error {
	from := stored.Version
	fn := migrate[from]
	empty, err := isEmpty(s.tx, c.name)
	if err != nil {
		return err
	}
	if fn == nil && !empty {
		return fmt.Errorf("it has version %d: add a function for %d to Options.Migrate that converts "+
			"records to version %d", from, from, want.Version)
	}
	schemas, err := loadSchemas(s.tx, c.name)
	if err != nil {
		return err
	}
	schemas = slices.DeleteFunc(schemas, func(schema *layout.Schema) bool {
		return want.added != nil && schema.Number == want.Schema // no record has it yet
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
	for number := range c.schemas {
		if number == want.Schema {
			continue
		}
		key := schemaPrefix + strconv.FormatUint(number, 10)
		if err := s.meta.Delete([]byte(key)); err != nil {
			return err
		}
		delete(c.schemas, number)
	}
	return nil
}

// migrateRecord converts a record to the wanted version.
func (c *collection) migrateRecord(
	s *session, key, value []byte, past *layout.Past,
	fn func(Row, reflect.Value) error,
) error {
	r := c.newRecord()
	if err := c.decode(value, r); err != nil {
		if c.codec == CodecBinary {
			return err
		}
		r = c.newRecord() // the function builds it from what is stored
	}
	old := Row{record: value, key: key, shape: c.shape, past: past}
	var err error
	if c.codec == CodecBinary {
		if old.schema, err = c.schemaOf(value); err != nil {
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
		return fmt.Errorf("its key would become %s: a migration must not change keys",
			formatKey(s.key))
	}
	if s.value, err = c.encode(s.value[:0], r); err != nil {
		return err
	}
	return s.data.Put(key, s.value)
}
