package feed

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Reindex makes a feed usable that [Open] refuses with [ErrInconsistent]: a salvage has lost
// something of it. Entries that are lost between others are redacted from then on, and those before
// all others expired, so that each entry keeps its number. Consumers keep their positions. Sublogs
// are removed, and the next Open makes them anew, with no redacted entry in them.
//
// It needs no type, and works in one transaction, which can be larger than memory.
func Reindex(db *stoat.DB, name string) error {
	err := db.Update(func(tx *stoat.Tx) error {
		root, err := tx.Bucket([]byte(name))
		if err != nil {
			return err
		}
		if _, err := root.Get([]byte(formatKey)); err != nil {
			return fmt.Errorf("how its entries are encoded, if it is a feed, is lost: %w", err)
		}
		return (&mending{tx: tx, root: root}).run()
	})
	if err != nil {
		return fmt.Errorf("reindex feed %q: %w", name, err)
	}
	return nil
}

// mending is the making anew of all that depends on the entries of a feed.
type mending struct {
	tx       *stoat.Tx
	root     *stoat.Bucket
	entries  *stoat.Bucket
	redacted lists
	state
	end    uint64 // bytes of all encoded values up to the last entry
	latest uint64 // when that was appended
}

func (m *mending) run() error {
	var err error
	for _, name := range []string{consumersBucket, schemasBucket} {
		if _, err := m.root.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	if m.entries, err = m.root.CreateBucketIfNotExists([]byte(entriesBucket)); err != nil {
		return err
	}
	for _, name := range []string{sublogsBucket, redactedBucket} {
		err := m.root.DeleteBucket([]byte(name))
		if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
			return err
		}
		bucket, err := m.root.CreateBucket([]byte(name))
		if err != nil {
			return err
		}
		m.redacted.bucket = bucket // the last one
	}
	if err := m.bounds(); err != nil {
		return err
	}
	if err := m.fill(); err != nil {
		return err
	}
	return m.finish()
}

// bounds finds out which entries there are and may have been.
func (m *mending) bounds() error {
	p, err := m.root.Get([]byte(stateKey))
	if err != nil && !errors.Is(err, stoat.ErrNotFound) {
		return err
	}
	if err != nil || m.state.parse(p) != nil {
		m.state = state{}
	}
	if err := m.entries.DeleteRange(stoat.Range{End: entryKey(m.first)}); err != nil {
		return err
	}
	for key := range m.entries.Keys(stoat.Range{Reverse: true, Limit: 1}) {
		last, err := parseKey(key)
		if err != nil {
			return err
		}
		m.next = max(m.next, last+1)
	}
	consumers, err := m.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return err
	}
	for name, p := range consumers.Scan(stoat.Range{}) {
		in := reader{rest: p}
		if at := in.number(); !in.bad {
			m.next = max(m.next, at)
		} else {
			return damaged("the position of the consumer %q", name)
		}
	}
	first := m.next
	for key := range m.entries.Keys(stoat.Range{Limit: 1}) {
		if first, err = parseKey(key); err != nil {
			return err
		}
	}
	m.first = first
	return m.tx.Err()
}

// fill redacts what is lost between the first entry and the end, and lists all that is redacted.
func (m *mending) fill() error {
	at := m.first
	for key, p := range m.entries.Scan(stoat.Range{}) {
		seq, err := parseKey(key)
		if err != nil {
			return err
		}
		if err := m.redact(at, seq); err != nil {
			return err
		}
		e, err := parseEntry(seq, p)
		if err != nil {
			return err
		}
		if e.redacted {
			err = m.redacted.add("", seq)
		}
		if err != nil {
			return err
		}
		m.end, m.latest, at = max(m.end, e.before+uint64(len(e.value))), max(m.latest, e.at), seq+1
	}
	if err := m.tx.Err(); err != nil {
		return err
	}
	if err := m.redact(at, m.next); err != nil {
		return err
	}
	return m.redacted.flush()
}

// redact puts redacted entries in the place of those from start up to but without end.
func (m *mending) redact(start, end uint64) error {
	e := stored{redacted: true, at: m.latest, before: m.end}
	for seq := start; seq < end; seq++ {
		if err := m.entries.Put(entryKey(seq), e.append(nil)); err != nil {
			return err
		}
		if err := m.redacted.add("", seq); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the state, and that the feed agrees with itself.
func (m *mending) finish() error {
	known, err := (&session{tx: m.tx, root: m.root}).lineage()
	if err != nil {
		return err
	}
	m.state.latest = max(m.state.latest, m.latest)
	m.written, m.checked = max(m.written, m.end), min(m.checked, m.next)
	m.sublogs, m.edition = nil, known.newest()
	if err := m.root.Put([]byte(stateKey), m.state.append(nil)); err != nil {
		return err
	}
	return keepChecked(m.tx, m.root)
}
