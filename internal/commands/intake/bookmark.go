package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
)

// Bookmarks is the name of the bucket in the root bucket that holds the bookmarks of unfinished
// imports, and that the last of them removes. Neither UTF-8 nor a tuple begins with its first byte.
const Bookmarks = "\xffimport"

// Position is a place in a source, behind a record. The fields mean what the reader of that source
// wants; the zero Position is the start.
type Position struct {
	Offset int64    `json:"offset,omitempty"` // bytes
	Record int64    `json:"record,omitempty"` // records or lines
	Path   [][]byte `json:"path,omitempty"`   // names of buckets, outermost first
	Key    []byte   `json:"key,omitempty"`
}

// set makes p a copy of q in memory of its own.
func (p *Position) set(q Position) {
	p.Offset, p.Record = q.Offset, q.Record
	p.Key = append(p.Key[:0], q.Key...)
	if slices.EqualFunc(p.Path, q.Path, bytes.Equal) {
		return
	}
	p.Path = make([][]byte, len(q.Path))
	for i, name := range q.Path {
		p.Path[i] = bytes.Clone(name)
	}
}

// Counts is how much of a source was dealt with, by all runs.
type Counts struct {
	Entries  int64 `json:"entries"`
	Skipped  int64 `json:"skipped"`  // records left out because they make no sense
	Redacted int64 `json:"redacted"` // entries whose contents the source has erased
	Expired  int64 `json:"expired"`  // entries that were not stored because their time was over
	Bytes    int64 `json:"bytes"`    // keys, as the source has them, and values
}

// bookmark is what a database keeps of an unfinished import.
type bookmark struct {
	Identity string    `json:"identity"` // of the source
	Settings string    `json:"settings"`
	Position Position  `json:"position"`
	Counts   Counts    `json:"counts"`
	Numbers  []numbers `json:"numbers,omitempty"` // that numbered entries have taken, ascending
}

// took notes the number of a numbered entry.
func (b *bookmark) took(n uint64) {
	if last := len(b.Numbers) - 1; last >= 0 && b.Numbers[last].Last+1 == n {
		b.Numbers[last].Last = n
		return
	}
	b.Numbers = append(b.Numbers, numbers{n, n})
}

// bookmarkKey returns the key of the bookmark of an import.
func bookmarkKey(source Source, bucket []string) []byte {
	return []byte(source.Kind + "\x00" + source.Path + "\x00" + bucketpath.Format(bucket))
}

// readBookmark returns the bookmark under key, or nil if there is none.
func readBookmark(tx *stoat.Tx, key []byte) (*bookmark, error) {
	b, err := tx.Bucket([]byte(Bookmarks))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value, err := b.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mark := new(bookmark)
	if err := json.Unmarshal(value, mark); err != nil {
		return nil, fmt.Errorf("the bookmark of the interrupted import makes no sense (%w): import "+
			"with the stoat that began", err)
	}
	return mark, nil
}

// write stores the bookmark under key.
func (b *bookmark) write(tx *stoat.Tx, key []byte) error {
	in, err := tx.CreateBucketIfNotExists([]byte(Bookmarks))
	if err != nil {
		return err
	}
	value, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return in.Put(key, value)
}

// removeBookmark removes what is under key, and the bucket after its last bookmark.
func removeBookmark(tx *stoat.Tx, key []byte) error {
	b, err := tx.Bucket([]byte(Bookmarks))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.Delete(key); err != nil {
		return err
	}
	for range b.Keys(stoat.Range{Limit: 1}) {
		return nil
	}
	if err := tx.Err(); err != nil {
		return err
	}
	return tx.DeleteBucket([]byte(Bookmarks))
}
