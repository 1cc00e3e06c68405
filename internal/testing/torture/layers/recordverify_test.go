package layers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
)

// finder returns a function that returns which of the states a stored collection is in, preferring
// the last, and compares all of it with that state.
func finder(schemas []schema) func(db *stoat.DB, states []*collectionModel) (int, error) {
	return func(db *stoat.DB, states []*collectionModel) (found int, err error) {
		err = db.View(func(tx *stoat.Tx) error {
			found, err = findCollection(tx, schemas, states)
			if err != nil {
				err = errors.Join(err, tx.Err())
			}
			return err
		})
		return found, err
	}
}

func findCollection(tx *stoat.Tx, schemas []schema, states []*collectionModel) (int, error) {
	has, c, err := stored(tx, schemas)
	if err != nil {
		return 0, err
	}
	var all []person
	if c != nil {
		if all, err = c.ask(tx, recordQuery{}); err != nil {
			return 0, fmt.Errorf("read all: %w", err)
		}
	}
	for i := len(states) - 1; i >= 0; i-- {
		if states[i].schema == has && slices.EqualFunc(states[i].all(), all, samePerson) {
			if c != nil {
				err = states[i].verify(tx, c, schemas[has])
			}
			return i, err
		}
	}
	oldest, newest := states[0], states[len(states)-1]
	return 0, fmt.Errorf("schema %d with %d records is no state; the oldest is of schema %d: %s; "+
		"the newest of schema %d: %s", has, len(all), oldest.schema, difference(all, oldest.all()),
		newest.schema, difference(all, newest.all()))
}

// stored returns the schema of the stored collection and opens it without a write.
func stored(tx *stoat.Tx, schemas []schema) (int, anyCollection, error) {
	if _, err := tx.Bucket([]byte(collectionName)); errors.Is(err, stoat.ErrBucketNotFound) {
		return neverOpened, nil, nil
	}
	for i := range schemas {
		c, err := schemas[i].openTx(tx)
		if errors.Is(err, stoat.ErrReadOnly) {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("open as schema %d: %w", i, err)
		}
		return i, c, nil
	}
	return 0, nil, errors.New("the collection has none of the schemas")
}

// verify compares counts, queries and indexes with the model.
func (m *collectionModel) verify(tx *stoat.Tx, c anyCollection, has schema) error {
	for _, check := range []func(*stoat.Tx, anyCollection, schema) error{
		func(tx *stoat.Tx, c anyCollection, _ schema) error { return c.Verify(tx) },
		m.verifyCount, m.verifyQueries, m.verifyIndexes, m.verifyBuckets,
	} {
		if err := check(tx, c, has); err != nil {
			return err
		}
	}
	return nil
}

func (m *collectionModel) verifyCount(tx *stoat.Tx, c anyCollection, _ schema) error {
	n, err := c.Count(tx)
	if err != nil || n != uint64(len(m.rows)) {
		return errors.Join(fmt.Errorf("the count of %d records is %d", len(m.rows), n), err)
	}
	return nil
}

func (m *collectionModel) verifyQueries(tx *stoat.Tx, c anyCollection, _ schema) error {
	for _, q := range recordQueries() {
		if q.nick && m.schema != schemaNick {
			continue
		}
		got, err := c.ask(tx, q)
		if err != nil {
			return fmt.Errorf("query %s: %w", q.name, err)
		}
		if want := m.answer(q); !slices.EqualFunc(got, want, samePerson) {
			return fmt.Errorf("query %s: %s", q.name, difference(got, want))
		}
	}
	return nil
}

func (m *collectionModel) verifyIndexes(tx *stoat.Tx, c anyCollection, has schema) error {
	for _, r := range has.indexes {
		got, err := c.by(tx, r.index)
		if err != nil {
			return fmt.Errorf("index %s: %w", r.index, err)
		}
		if want := m.inOrderOf(r); !slices.EqualFunc(got, want, samePerson) {
			return fmt.Errorf("index %s: %s", r.index, difference(got, want))
		}
	}
	return nil
}

// inOrderOf returns all persons in the order of an index, once per entry.
func (m *collectionModel) inOrderOf(r indexModel) []person {
	type entry struct {
		text string
		of   person
	}
	var entries []entry
	for _, p := range m.all() {
		texts := slices.Sorted(slices.Values(r.entries(p)))
		for _, text := range slices.Compact(texts) {
			entries = append(entries, entry{text, p})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	var all []person
	for _, e := range entries {
		all = append(all, e.of)
	}
	return all
}

// verifyBuckets checks that the collection has exactly the buckets of its indexes.
func (m *collectionModel) verifyBuckets(tx *stoat.Tx, _ anyCollection, has schema) error {
	b, err := tx.Bucket([]byte(collectionName))
	if err != nil {
		return err
	}
	var got []string
	for name := range b.Buckets() {
		got = append(got, string(name))
	}
	want := []string{"meta"}
	for _, r := range has.indexes {
		want = append(want, "index "+r.index)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		return fmt.Errorf("buckets %q, want %q", got, want)
	}
	return nil
}

// difference describes the first difference between two lists.
func difference(got, want []person) string {
	for i := range min(len(got), len(want)) {
		if !samePerson(got[i], want[i]) {
			return fmt.Sprintf("person %d of %d is %+v, want %+v", i, len(got), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d persons, want %d", len(got), len(want))
	}
	return "no difference"
}
