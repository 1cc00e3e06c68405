package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// checkSalvaged returns an error if the database was salvaged and the parts of the collection
// disagree. It checks once for each salvage, if it can record that.
func (c *collection) checkSalvaged(tx *stoat.Tx) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	checked, err := s.meta.Get([]byte(salvageKey))
	if err == nil && bytes.Equal(checked, binary.AppendUvarint(nil, number)) {
		return nil
	}
	if err != nil && !errors.Is(err, stoat.ErrNotFound) {
		return err
	}
	if err := c.verify(s); err != nil {
		return inconsistent(err)
	}
	if c.unmarked = !tx.Writable(); c.unmarked {
		return nil
	}
	return markChecked(tx, s.meta)
}

// inconsistent returns the error of a collection that lacks what a salvage lost.
func inconsistent(err error) error {
	return fmt.Errorf("%w: %w; call record.Reindex, or run stoat record reindex", ErrInconsistent, err)
}

// explainLoss returns the error of what is not stored, as one of a salvage, if there was one.
func explainLoss(tx *stoat.Tx, err error) error {
	number, other := tx.Salvaged()
	if number == 0 || other != nil {
		return err
	}
	return inconsistent(err)
}

// markChecked records that the collection was consistent after the salvage, if there was one.
func markChecked(tx *stoat.Tx, meta *stoat.Bucket) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	return meta.Put([]byte(salvageKey), binary.AppendUvarint(nil, number))
}

// refuseLost returns an error if the collection to create may exist under a lost name.
func refuseLost(tx *stoat.Tx) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	for name := range tx.Buckets() {
		if bytes.HasPrefix(name, []byte("lost-")) {
			return fmt.Errorf("it may be the bucket %q, whose name a salvage lost: rename or remove "+
				"such buckets before creating it", name)
		}
	}
	return tx.Err()
}

// restore stores what a salvage lost of a collection's definition and schemas, derived from the
// type and the options. Whether the records match them is checked later.
func restore(tx *stoat.Tx, name string, want *settings) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	root, err := tx.Bucket([]byte(name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	shape, err := want.shape()
	if err != nil {
		return err
	}
	meta, err := root.CreateBucketIfNotExists([]byte("meta"))
	if err != nil {
		return err
	}
	stored, lost := loadDefinition(tx, name)
	if errors.Is(lost, stoat.ErrFormat) {
		return lost
	}
	newest := uint64(0)
	if want.codec == CodecBinary {
		if newest, err = restoreSchemas(root, meta, shape.layout, stored); err != nil {
			return err
		}
	}
	if lost == nil {
		return nil
	}
	d := define(shape, want.codec, want.version)
	d.Schema = newest
	p, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := meta.Put([]byte(definitionKey), p); err != nil {
		return err
	}
	return meta.SetSequence(nextEdition(number, p, nil))
}

// restoreSchemas stores the schema of a type under all numbers that records have but whose schemas
// are lost, unless the definition, nil if that is lost too, proves that it is another one. It
// returns the highest schema number.
func restoreSchemas(
	root, meta *stoat.Bucket, l *layout.Layout, d *definition,
) (newest uint64, err error) {
	var known []uint64
	for key, p := range meta.Scan(stoat.Prefix([]byte(schemaPrefix))) {
		schema, err := layout.ParseSchema(p)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", key, err)
		}
		known = append(known, schema.Number)
	}
	for key, head := range root.Heads(stoat.Range{}, binary.MaxVarintLen64) {
		number, err := layout.Number(head)
		if err != nil {
			return 0, fmt.Errorf("key %s: %w", formatKey(key), err)
		}
		if slices.Contains(known, number) {
			continue
		}
		known = append(known, number)
		schema := l.Numbered(number).Schema()
		if d != nil && d.Digests[number] != "" && d.Digests[number] != digest(schema) {
			return 0, fmt.Errorf("key %s: schema %d, which the record has, is lost, and %s is not the type "+
				"that it was stored with: reindex with that type, or delete all records that have the "+
				"schema", formatKey(key), number, l.Type())
		}
		at := strconv.AppendUint([]byte(schemaPrefix), number, 10)
		if err := meta.Put(at, schema.Append(nil)); err != nil {
			return 0, err
		}
	}
	return slices.Max(append(known, 0)), nil
}
