package layers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
)

// finder returns a function that finds out which of the states the collection in a database is in,
// preferring the last, and compares all that there is with that.
func finder(forms []form) func(db *stoat.DB, states []*people) (int, error) {
	return func(db *stoat.DB, states []*people) (found int, err error) {
		err = db.View(func(tx *stoat.Tx) error {
			found, err = findPeople(tx, forms, states)
			if err != nil {
				err = errors.Join(err, tx.Err())
			}
			return err
		})
		return found, err
	}
}

func findPeople(tx *stoat.Tx, forms []form, states []*people) (int, error) {
	has, c, err := stored(tx, forms)
	if err != nil {
		return 0, err
	}
	var all []person
	if c != nil {
		if all, err = c.ask(tx, question{}); err != nil {
			return 0, fmt.Errorf("read all: %w", err)
		}
	}
	for i := len(states) - 1; i >= 0; i-- {
		if states[i].form == has && slices.EqualFunc(states[i].all(), all, samePerson) {
			if c != nil {
				err = states[i].verify(tx, c, forms[has])
			}
			return i, err
		}
	}
	oldest, newest := states[0], states[len(states)-1]
	return 0, fmt.Errorf("form %d with %d records is no state; the oldest is of form %d: %s; "+
		"the newest of form %d: %s", has, len(all), oldest.form, difference(all, oldest.all()),
		newest.form, difference(all, newest.all()))
}

// stored returns the form that the stored collection has, and opens it without changing anything.
func stored(tx *stoat.Tx, forms []form) (int, shelf, error) {
	if _, err := tx.Bucket([]byte(collectionName)); errors.Is(err, stoat.ErrBucketNotFound) {
		return unmade, nil, nil
	}
	for i := range forms {
		c, err := forms[i].openTx(tx)
		if errors.Is(err, stoat.ErrReadOnly) {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("open as form %d: %w", i, err)
		}
		return i, c, nil
	}
	return 0, nil, errors.New("the collection has none of the forms")
}

// verify compares what the collection counts, lists and finds with the model.
func (m *people) verify(tx *stoat.Tx, c shelf, has form) error {
	for _, check := range []func(*stoat.Tx, shelf, form) error{
		func(tx *stoat.Tx, c shelf, _ form) error { return c.Verify(tx) },
		m.verifyCount, m.verifyQueries, m.verifyRankings, m.verifyBuckets,
	} {
		if err := check(tx, c, has); err != nil {
			return err
		}
	}
	return nil
}

func (m *people) verifyCount(tx *stoat.Tx, c shelf, _ form) error {
	n, err := c.Count(tx)
	if err != nil || n != uint64(len(m.rows)) {
		return errors.Join(fmt.Errorf("the count of %d records is %d", len(m.rows), n), err)
	}
	return nil
}

func (m *people) verifyQueries(tx *stoat.Tx, c shelf, _ form) error {
	for _, q := range questions() {
		if q.nick && m.form != formNick {
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

func (m *people) verifyRankings(tx *stoat.Tx, c shelf, has form) error {
	for _, r := range has.rankings {
		got, err := c.by(tx, r.index)
		if err != nil {
			return fmt.Errorf("index %s: %w", r.index, err)
		}
		if want := m.ranked(r); !slices.EqualFunc(got, want, samePerson) {
			return fmt.Errorf("index %s: %s", r.index, difference(got, want))
		}
	}
	return nil
}

// ranked returns all persons in the order of an index, once for each entry.
func (m *people) ranked(r ranking) []person {
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

// verifyBuckets wants the collection to have the buckets of its indexes, and no more of others.
func (m *people) verifyBuckets(tx *stoat.Tx, _ shelf, has form) error {
	b, err := tx.Bucket([]byte(collectionName))
	if err != nil {
		return err
	}
	var got []string
	for name := range b.Buckets() {
		got = append(got, string(name))
	}
	want := []string{"meta"}
	for _, r := range has.rankings {
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
