package studio

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/stoatdb/stoat"
)

// bucketsAnswer is a page of the buckets within one.
type bucketsAnswer struct {
	Buckets []bucketRow `json:"buckets"`
	Next    string      `json:"next,omitempty"` // continues after this page
}

// bucketRow is what is known of a bucket, without the buckets within it, unless they are parts of a
// collection or a feed.
type bucketRow struct {
	Name    blob       `json:"name"`
	Path    string     `json:"path"`
	Kind    bucketKind `json:"kind"`
	Keys    uint64     `json:"keys"`
	Bytes   uint64     `json:"bytes"`
	Stored  uint64     `json:"stored"`  // of its values in tables of its own
	Zstd    uint64     `json:"zstd"`    // of values compressed in blocks
	Pattern uint64     `json:"pattern"` // of values encoded one by one
}

func (h *Handler) buckets(r *http.Request) (any, error) {
	p := parametersOf(r)
	path, after, limit := p.path(), p.bytes("after"), p.limit()
	if p.err != nil {
		return nil, p.err
	}
	a := bucketsAnswer{Buckets: []bucketRow{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		b, err := bucketAt(tx, path)
		if err != nil {
			return err
		}
		var from stoat.Range
		if after != nil {
			from.Start = slices.Concat(after, []byte{0})
		}
		return a.fill(r.Context(), b, path, from, limit)
	})
	return a, err
}

// bucket answers with the row of one bucket.
func (h *Handler) bucket(r *http.Request) (any, error) {
	p := parametersOf(r)
	path := p.path()
	if p.err != nil {
		return nil, p.err
	}
	var row bucketRow
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		b, err := bucketAt(tx, path)
		if err != nil {
			return err
		}
		row, err = describeBucket(r.Context(), b, path)
		return err
	})
	return row, err
}

// fill adds the rows of the buckets within b, which is at path.
func (a *bucketsAnswer) fill(
	ctx context.Context, b stoat.KeySpace, path [][]byte, from stoat.Range, limit int,
) error {
	left := newBudget(limit)
	var last []byte
	for name := range b.BucketsIn(from) {
		if left.spent() {
			a.Next = formatBytes(last)
			break
		}
		inner, err := b.Bucket(name)
		if err != nil {
			return err
		}
		last = bytes.Clone(name)
		row, err := describeBucket(ctx, inner, append(slices.Clip(path), last))
		if err != nil {
			return err
		}
		a.Buckets = append(a.Buckets, row)
		left.add(len(row.Path))
	}
	return nil
}

// describeBucket returns the row of the bucket b at a path.
func describeBucket(
	ctx context.Context, b stoat.KeySpace, path [][]byte,
) (row bucketRow, err error) {
	if err := ctx.Err(); err != nil {
		return row, err
	}
	stats, err := b.Stats()
	if err != nil {
		return row, err
	}
	row = bucketRow{
		Path: formatPath(path), Kind: plainBucket, Keys: stats.Keys, Bytes: stats.Bytes,
		Stored: stats.StoredBytes, Zstd: stats.ZstdBytes, Pattern: stats.PatternBytes,
	}
	if row.Name = whole(nil); len(path) > 0 {
		name := path[len(path)-1]
		row.Name = head(name, len(name), keyShown)
	}
	if len(path) != 1 {
		return row, nil
	}
	row.Kind, err = kindOf(b, path[0])
	if err != nil || row.Kind != collectionBucket && row.Kind != feedBucket {
		return row, err
	}
	parts := partsMost
	return row, row.addParts(b, &parts)
}

// partsMost is how many buckets of a collection or a feed are looked at for its size.
const partsMost = 100

// addParts adds the sizes of the buckets within b, which are parts of a collection or a feed, until
// none is left to look at.
func (row *bucketRow) addParts(b stoat.KeySpace, left *int) error {
	for name := range b.Buckets() {
		if *left--; *left < 0 {
			return nil
		}
		part, err := b.Bucket(name)
		if err != nil {
			return err
		}
		stats, err := part.Stats()
		if err != nil {
			return err
		}
		row.Bytes += stats.Bytes
		row.Stored += stats.StoredBytes
		row.Zstd += stats.ZstdBytes
		row.Pattern += stats.PatternBytes
		if row.Kind == feedBucket && string(name) == entriesBucket {
			row.Keys = stats.Keys
		}
		if err := row.addParts(part, left); err != nil {
			return err
		}
	}
	return nil
}

// bucketKind is what the contents of a bucket are.
type bucketKind string

const (
	plainBucket      bucketKind = "bucket"
	collectionBucket bucketKind = "collection" // of package record
	feedBucket       bucketKind = "feed"       // of package feed
	spacesBucket     bucketKind = "spaces"     // of package replica
	raftBucket       bucketKind = "raft"       // of package raftstore
)

// entriesBucket is the bucket of a feed that has a key for each entry.
const entriesBucket = "entries"

// kindOf returns the kind of a bucket in the root.
func kindOf(b stoat.KeySpace, name []byte) (bucketKind, error) {
	switch string(name) { // other modules keep these
	case "replica":
		return spacesBucket, nil
	case "raftstore":
		return raftBucket, nil
	}
	meta, err := b.Bucket([]byte("meta"))
	if err == nil {
		if found, err := meta.Has([]byte("definition")); found || err != nil {
			return collectionBucket, err
		}
	}
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return plainBucket, err
	}
	for _, name := range []string{entriesBucket, "sublogs", "redacted", "consumers", "schemas"} {
		_, err := b.Bucket([]byte(name))
		switch {
		case errors.Is(err, stoat.ErrBucketNotFound):
			return plainBucket, nil
		case err != nil:
			return plainBucket, err
		}
	}
	return feedBucket, nil
}
