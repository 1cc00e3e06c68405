package layers

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// contents is all of a feed and the results of its consumers.
type contents struct {
	first, next uint64
	entries     []feedEntry       // including the redacted ones
	stored      []string          // the keys of all stored entries
	cursors     map[string]uint64 // of the consumers that have one
	derived     map[string]map[string]string
}

// findFeed returns which of the states a stored feed is in, preferring the last, and compares all
// of it with that state. It completes the sublogs.
func findFeed(db *stoat.DB, states []*feedModel) (int, error) {
	made := false
	err := db.View(func(tx *stoat.Tx) error {
		_, err := tx.Bucket([]byte(feedName))
		if made = err == nil; errors.Is(err, stoat.ErrBucketNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	newest := states[len(states)-1]
	if made != (newest.schema != neverOpened) {
		for i := len(states) - 1; i >= 0; i-- {
			if made == (states[i].schema != neverOpened) {
				return findFeed(db, states[:i+1])
			}
		}
		return 0, fmt.Errorf("that there is a feed is %t, which is no state", made)
	}
	if !made {
		return len(states) - 1, nil
	}
	f, err := openFeed(db, newest.schema, 0)
	if err != nil {
		return 0, err
	}
	found := 0
	err = db.View(func(tx *stoat.Tx) error {
		found, err = matchFeed(tx, f, states)
		if err != nil {
			err = errors.Join(err, tx.Err())
		}
		return err
	})
	return found, err
}

// matchFeed compares the feed, opened with the schema of the last state, with all states.
func matchFeed(tx *stoat.Tx, f anyFeed, states []*feedModel) (int, error) {
	got, err := contentsOf(tx, f)
	if err != nil {
		return 0, err
	}
	schema := states[len(states)-1].schema
	for i := len(states) - 1; i >= 0; i-- {
		if states[i].schema == neverOpened {
			continue
		}
		want := states[i].clone()
		want.opened(schema)
		if want.differs(got) == nil {
			return i, want.verify(tx, f)
		}
	}
	return 0, fmt.Errorf("the feed is in no state; the oldest: %v; the newest: %v",
		states[0].differs(got), states[len(states)-1].differs(got))
}

// contentsOf reads the feed.
func contentsOf(tx *stoat.Tx, f anyFeed) (*contents, error) {
	got := &contents{cursors: map[string]uint64{}, derived: map[string]map[string]string{}}
	var err error
	if got.first, err = f.First(tx); err != nil {
		return nil, err
	}
	if got.next, err = f.Len(tx); err != nil {
		return nil, err
	}
	if got.entries, err = f.read(tx, feedQuery{redacted: true}); err != nil {
		return nil, err
	}
	if got.stored, err = storedKeys(tx); err != nil {
		return nil, err
	}
	for _, name := range consumerNames() {
		at, err := f.Cursor(tx, name)
		if err != nil {
			return nil, err
		}
		begun, err := hasBegun(tx, name)
		if err != nil {
			return nil, err
		}
		if begun {
			got.cursors[name] = at
		}
		if got.derived[name], err = derivedBy(tx, name); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// feedBucket returns a bucket inside the feed's.
func feedBucket(tx *stoat.Tx, name string) (*stoat.Bucket, error) {
	b, err := tx.Bucket([]byte(feedName))
	if err != nil {
		return nil, err
	}
	return b.Bucket([]byte(name))
}

// storedKeys returns the keys of all entries, even of those that the feed does not know.
func storedKeys(tx *stoat.Tx) ([]string, error) {
	b, err := feedBucket(tx, "entries")
	if err != nil {
		return nil, err
	}
	var all []string
	for key := range b.Keys(stoat.Range{}) {
		all = append(all, string(key))
	}
	return all, tx.Err()
}

// hasBegun reports whether a consumer's cursor is stored.
func hasBegun(tx *stoat.Tx, name string) (bool, error) {
	b, err := feedBucket(tx, "consumers")
	if err != nil {
		return false, err
	}
	return b.Has([]byte(name))
}

// derivedBy returns what a consumer wrote.
func derivedBy(tx *stoat.Tx, name string) (map[string]string, error) {
	got := map[string]string{}
	b, err := tx.Bucket([]byte(derivedName))
	if err == nil {
		b, err = b.Bucket([]byte(name))
	}
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return got, nil
	}
	if err != nil {
		return nil, err
	}
	for key, value := range b.Scan(stoat.Range{}) {
		got[string(key)] = string(value)
	}
	return got, tx.Err()
}

// differs returns how the contents differ from the model, or nil.
func (m *feedModel) differs(got *contents) error {
	if m.schema == neverOpened {
		return errors.New("there should be no feed")
	}
	if got.first != uint64(m.first) || got.next != uint64(m.next()) {
		return fmt.Errorf("entries from %d to %d, want %d to %d", got.first, got.next, m.first,
			m.next())
	}
	if n := m.next() - m.first; len(got.entries) != n || len(got.stored) != n {
		return fmt.Errorf("%d entries from %d to %d, and %d are stored", len(got.entries), m.first,
			m.next(), len(got.stored))
	}
	for i, e := range got.entries {
		seq := m.first + i
		if e.seq != uint64(seq) || got.stored[i] != number(uint64(seq)) ||
			e.redacted != m.at(seq).redacted || !samePost(e.post, m.visible(seq)) {
			return fmt.Errorf("entry %d is %+v, want %+v", seq, e, m.at(seq))
		}
	}
	for _, name := range consumerNames() {
		at, begun := got.cursors[name]
		if _, want := m.cursors[name]; begun != want || begun && !m.isAt(name, int(at)) {
			return fmt.Errorf("consumer %s is at %d (begun: %t), want %d (%t)", name, at, begun,
				m.cursor(name), want)
		}
		if want := m.derived(name); !maps.Equal(got.derived[name], want) {
			return fmt.Errorf("consumer %s has written %q, want %q", name, got.derived[name], want)
		}
	}
	return nil
}

// verify compares the results and counts of all sublogs with the model.
func (m *feedModel) verify(tx *stoat.Tx, f anyFeed) error {
	if err := m.verifyQueries(tx, f); err != nil {
		return err
	}
	if err := m.verifyAddresses(tx, f); err != nil {
		return err
	}
	if err := m.verifyLists(tx); err != nil {
		return err
	}
	return m.verifyGets(tx, f)
}

// verifyLists checks that no list of entries removed long ago is left.
func (m *feedModel) verifyLists(tx *stoat.Tx) error {
	lists := []*stoat.Bucket{}
	redacted, err := feedBucket(tx, "redacted")
	if err != nil {
		return err
	}
	sublogs, err := feedBucket(tx, "sublogs")
	if err != nil {
		return err
	}
	for name := range sublogs.Buckets() {
		b, err := sublogs.Bucket(name)
		if err != nil {
			return err
		}
		lists = append(lists, b)
	}
	chunk := number(uint64(m.first) &^ (1<<16 - 1))
	for _, b := range append(lists, redacted) {
		for key := range b.Keys(stoat.Range{End: []byte(chunk)}) {
			return fmt.Errorf("the list %q is left, and entries begin with %d", key, m.first)
		}
	}
	return tx.Err()
}

func (m *feedModel) verifyAddresses(tx *stoat.Tx, f anyFeed) error {
	want := map[string]map[string]uint64{"author": {}}
	if m.schema != feedPlain {
		want["tag"] = map[string]uint64{}
	}
	for _, c := range feedQueries(m.schema) {
		if n := len(m.answer(c)); c.sublog != "" && !c.redacted && n > 0 {
			want[c.sublog][c.address] = uint64(n)
		}
	}
	for sublog := range want {
		got, err := f.addresses(tx, sublog)
		if err != nil || !maps.Equal(got, want[sublog]) {
			differs := fmt.Errorf("sublog %s has %v, want %v", sublog, got, want[sublog])
			return errors.Join(differs, err)
		}
	}
	return nil
}

func (m *feedModel) verifyQueries(tx *stoat.Tx, f anyFeed) error {
	for _, c := range feedQueries(m.schema) {
		if err := m.verifyQuery(tx, f, c); err != nil {
			return fmt.Errorf("query %+v: %w", c, err)
		}
	}
	return nil
}

func (m *feedModel) verifyQuery(tx *stoat.Tx, f anyFeed, c feedQuery) error {
	entries, err := f.read(tx, c)
	if err != nil {
		return err
	}
	var got []int
	for _, e := range entries {
		got = append(got, int(e.seq))
	}
	want := m.answer(c)
	if !slices.Equal(got, want) {
		return fmt.Errorf("entries %v, want %v", got, want)
	}
	n, middle, err := f.size(tx, c)
	if err != nil || n != uint64(len(want)) || n > 0 && middle != uint64(want[n/2]) {
		differs := fmt.Errorf("%d entries with %d in the middle, want %v", n, middle, want)
		return errors.Join(differs, err)
	}
	return nil
}

// verifyGets reads entries one by one, also removed and future ones.
func (m *feedModel) verifyGets(tx *stoat.Tx, f anyFeed) error {
	for seq := max(m.base, m.first-1); seq <= m.next(); seq++ {
		got, err := f.get(tx, uint64(seq))
		var want error
		switch {
		case seq == m.next():
			want = stoat.ErrNotFound
		case seq < m.first:
			want = feed.ErrExpired
		case m.at(seq).redacted:
			want = feed.ErrRedacted
		}
		if !errors.Is(err, want) || want == nil && !samePost(got, m.visible(seq)) {
			differs := fmt.Errorf("entry %d is %+v, want the error %v", seq, got, want)
			return errors.Join(differs, err)
		}
	}
	return nil
}
