package feed

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// rebuild recreates everything that derives from the entries of a feed.
type rebuild struct {
	tx       *stoat.Tx
	name     string
	root     *stoat.Bucket
	format   string
	own      *layout.Layout // of the program's type; nil if it is not known or no struct
	entries  *stoat.Bucket
	redacted lists
	state
	end    uint64                // size of all encoded values up to the last entry, in bytes
	latest uint64                // when the last entry was appended
	used   map[uint64]*schemaUse // by the number of the schema
}

// newRebuild returns the rebuild of the feed with this name.
func newRebuild(tx *stoat.Tx, name string) (*rebuild, error) {
	root, err := tx.Bucket([]byte(name))
	if err != nil {
		return nil, err
	}
	format, err := root.Get([]byte(formatKey))
	if err != nil {
		return nil, noFormat(err)
	}
	if _, err := newUntypedCodec(string(format)); err != nil {
		return nil, err
	}
	b := &rebuild{tx: tx, name: name, root: root, format: string(format)}
	b.used = map[uint64]*schemaUse{}
	return b, nil
}

// noFormat returns the error of a feed whose format cannot be read.
func noFormat(err error) error {
	return fmt.Errorf("it is not a feed, or its format is lost: call feed.Reindex with the type and "+
		"the encoding of the entries: %w", err)
}

// session returns a session of the feed in which only the bucket is set.
func (b *rebuild) session() *session { return &session{tx: b.tx, name: b.name, root: b.root} }

// bucket returns a bucket of the feed, a new one if it is lost.
func (b *rebuild) bucket(name string) (*stoat.Bucket, error) {
	bucket, err := b.root.Bucket([]byte(name))
	if !errors.Is(err, stoat.ErrBucketNotFound) {
		return bucket, err
	}
	if err := refuseLost(b.tx, fmt.Sprintf("its bucket %q", name)); err != nil {
		return nil, err
	}
	return b.root.CreateBucket([]byte(name))
}

func (b *rebuild) run() error {
	var err error
	for _, name := range []string{consumersBucket, schemasBucket} {
		if _, err := b.bucket(name); err != nil {
			return err
		}
	}
	if b.entries, err = b.bucket(entriesBucket); err != nil {
		return err
	}
	for _, name := range []string{sublogsBucket, redactedBucket} {
		err := b.root.DeleteBucket([]byte(name))
		if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
			return err
		}
		bucket, err := b.root.CreateBucket([]byte(name))
		if err != nil {
			return err
		}
		b.redacted.bucket = bucket // redactedBucket comes last
	}
	if err := b.bounds(); err != nil {
		return err
	}
	if err := b.fill(); err != nil {
		return err
	}
	if err := b.restoreSchema(); err != nil {
		return err
	}
	return b.finish()
}

// bounds determines which entries exist or may have existed.
func (b *rebuild) bounds() error {
	p, err := b.root.Get([]byte(stateKey))
	if err != nil && !errors.Is(err, stoat.ErrNotFound) {
		return err
	}
	if err == nil {
		err = b.state.parse(p)
	}
	if errors.Is(err, stoat.ErrFormat) {
		return err
	}
	if err != nil {
		b.state = state{}
	}
	if err := b.entries.DeleteRange(stoat.Range{End: entryKey(b.first)}); err != nil {
		return err
	}
	for key := range b.entries.Keys(stoat.Range{Reverse: true, Limit: 1}) {
		last, err := parseKey(key)
		if err != nil {
			return b.giveUp(err)
		}
		b.next = max(b.next, last+1)
	}
	if err := b.consumers(); err != nil {
		return err
	}
	first := b.next
	for key := range b.entries.Keys(stoat.Range{Limit: 1}) {
		if first, err = parseKey(key); err != nil {
			return b.giveUp(err)
		}
	}
	b.first = first
	return b.tx.Err()
}

// consumers makes sure that the entries that consumers have handled count as having existed. It
// guesses no cursor: the consumer would handle entries again or never.
func (b *rebuild) consumers() error {
	consumers, err := b.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return err
	}
	for name, p := range consumers.Scan(stoat.Range{}) {
		at, err := parseCursor(name, p)
		if err != nil {
			return fmt.Errorf("%w; in the bucket %q within %q, delete the key %q, and the consumer "+
				"starts at the oldest entry, or put the number of the entry that it handles next "+
				"there, as a uvarint; then reindex", err, consumersBucket, b.name, name)
		}
		b.next = max(b.next, at)
	}
	return b.tx.Err()
}

// giveUp returns the error of entries that cannot be read, with what to do about them.
func (b *rebuild) giveUp(err error) error {
	return fmt.Errorf("%w; to give up what cannot be read, delete it from the bucket %q within %q, "+
		"and reindex", err, entriesBucket, b.name)
}

// fill redacts the entries missing between the first one and the end, and lists all redacted ones.
func (b *rebuild) fill() error {
	at := b.first
	for key, p := range b.entries.Scan(stoat.Range{}) {
		seq, e, err := b.parse(key, p)
		if err != nil {
			return b.giveUp(err)
		}
		if err := b.redact(at, seq); err != nil {
			return err
		}
		if e.redacted {
			if err := b.redacted.add("", seq); err != nil {
				return err
			}
		}
		b.end, b.latest, at = max(b.end, e.before+uint64(len(e.value))), max(b.latest, e.at), seq+1
	}
	if err := b.tx.Err(); err != nil {
		return err
	}
	if err := b.redact(at, b.next); err != nil {
		return err
	}
	return b.redacted.flush()
}

// parse parses an entry, and counts it to those that have its schema.
func (b *rebuild) parse(key, p []byte) (seq uint64, e stored, err error) {
	if seq, err = parseKey(key); err != nil {
		return 0, stored{}, err
	}
	if e, err = parseEntry(seq, p); err == nil && !e.redacted && b.format == structFormat {
		err = b.use(seq, e.value)
	}
	return seq, e, err
}

// redact stores redacted entries in place of those from start, inclusive, to end, exclusive.
func (b *rebuild) redact(start, end uint64) error {
	e := stored{redacted: true, at: b.latest, before: b.end}
	for seq := start; seq < end; seq++ {
		if err := b.entries.Put(entryKey(seq), e.append(nil)); err != nil {
			return err
		}
		if err := b.redacted.add("", seq); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the state, and that the feed is consistent.
func (b *rebuild) finish() error {
	known, err := b.session().lineage()
	if err != nil {
		return err
	}
	b.state.latest = max(b.state.latest, b.latest)
	b.written, b.checked = max(b.written, b.end), min(b.checked, b.next)
	b.sublogs, b.edition = nil, known.newest()
	if err := b.root.Put([]byte(stateKey), b.state.append(nil)); err != nil {
		return err
	}
	return markChecked(b.tx, b.root)
}
