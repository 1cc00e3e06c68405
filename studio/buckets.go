package studio

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
)

// pageTime is how long the studio looks for the entries of a page. What it has then is the page.
const pageTime = time.Second

// bucketsAnswer is a page of the buckets within one.
type bucketsAnswer struct {
	Buckets []bucketRow `json:"buckets"`
	Next    string      `json:"next,omitempty"` // continues after this page
}

// bucketRow is what is known of a bucket, without the buckets within it.
type bucketRow struct {
	Name     blob       `json:"name"`
	Path     string     `json:"path"`
	Kind     bucketKind `json:"kind"`
	Keys     uint64     `json:"keys"`
	Bytes    uint64     `json:"bytes"`
	Stored   uint64     `json:"stored"`  // of its values in tables of its own
	Zstd     uint64     `json:"zstd"`    // of values compressed in blocks
	Pattern  uint64     `json:"pattern"` // of values encoded one by one
	Sequence uint64     `json:"sequence,string"`
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
		end := time.Now().Add(pageTime)
		for name := range b.BucketsIn(from) {
			if len(a.Buckets) == limit || len(a.Buckets) > 0 && time.Now().After(end) {
				a.Next = formatBytes(after)
				break
			}
			row, err := describeBucket(r.Context(), b, path, name)
			if err != nil {
				return err
			}
			a.Buckets = append(a.Buckets, row)
			after = bytes.Clone(name)
		}
		return nil
	})
	return a, err
}

// describeBucket returns the row of a bucket within b, which is at path.
func describeBucket(
	ctx context.Context, b stoat.KeySpace, path [][]byte, name []byte,
) (row bucketRow, err error) {
	if err := ctx.Err(); err != nil {
		return row, err
	}
	inner, err := b.Bucket(name)
	if err != nil {
		return row, err
	}
	stats, err := inner.Stats()
	if err != nil {
		return row, err
	}
	row = bucketRow{
		Name: head(bytes.Clone(name), len(name), keyShown),
		Path: formatPath(append(slices.Clip(path), name)),
		Kind: plainBucket,
		Keys: stats.Keys, Bytes: stats.Bytes,
		Stored: stats.StoredBytes, Zstd: stats.ZstdBytes, Pattern: stats.PatternBytes,
	}
	if row.Sequence, err = inner.Sequence(); err == nil && len(path) == 0 {
		row.Kind, err = kindOf(inner)
	}
	return row, err
}

// bucketKind is what the contents of a bucket are.
type bucketKind string

const (
	plainBucket      bucketKind = "bucket"
	collectionBucket bucketKind = "collection" // of package record
	feedBucket       bucketKind = "feed"       // of package feed
)

// kindOf returns the kind of a bucket in the root.
func kindOf(b *stoat.Bucket) (bucketKind, error) {
	meta, err := b.Bucket([]byte("meta"))
	if err == nil {
		if found, err := meta.Has([]byte("definition")); found || err != nil {
			return collectionBucket, err
		}
	}
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return plainBucket, err
	}
	for _, name := range []string{"entries", "sublogs", "redacted", "consumers", "schemas"} {
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
