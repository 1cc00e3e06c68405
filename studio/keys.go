package studio

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
)

const (
	// previewShown is how much of a value is shown where there are many of them.
	previewShown = 200
	// previewFrom is the size of a value of which nothing is shown there, because showing the start
	// of a value can mean to verify all of it.
	previewFrom = 256 << 10
)

// keysAnswer is a page of the keys of a bucket.
type keysAnswer struct {
	Entries []entryRow `json:"entries"`
	Next    string     `json:"next,omitempty"` // continues after this page
}

// entryRow is a key and the start of its value.
type entryRow struct {
	Key     blob       `json:"key"`
	ID      string     `json:"id"`    // the key, as other endpoints take it
	Value   blob       `json:"value"` // nothing of it is shown if it is large
	Expires *time.Time `json:"expires,omitempty"`
}

// keyRange returns the range that a request asks for.
func keyRange(p *parameters) stoat.Range {
	r := stoat.Prefix(p.bytes("prefix"))
	from, after := p.bytes("from"), p.bytes("after")
	if r.Reverse = p.yes("reverse"); r.Reverse {
		if from != nil {
			r.End = earlier(r.End, slices.Concat(from, []byte{0}))
		}
		if after != nil {
			r.End = earlier(r.End, after)
		}
		return r
	}
	r.Start = later(r.Start, from)
	if after != nil {
		r.Start = later(r.Start, slices.Concat(after, []byte{0}))
	}
	return r
}

// earlier returns the lower of two bounds of which the first may be nil for none.
func earlier(end, other []byte) []byte {
	if len(end) == 0 || bytes.Compare(other, end) < 0 {
		return other
	}
	return end
}

// later returns the higher of two bounds.
func later(start, other []byte) []byte {
	if bytes.Compare(other, start) > 0 {
		return other
	}
	return start
}

func (h *Handler) keys(r *http.Request) (any, error) {
	p := parametersOf(r)
	path, within, limit := p.path(), keyRange(p), p.limit()
	if p.err != nil {
		return nil, p.err
	}
	a := keysAnswer{Entries: []entryRow{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		b, err := bucketAt(tx, path)
		if err != nil {
			return err
		}
		end := time.Now().Add(pageTime)
		for key := range b.Keys(within) {
			if n := len(a.Entries); n == limit || n > 0 && time.Now().After(end) {
				a.Next = a.Entries[n-1].ID
				break
			}
			row, err := describeEntry(r.Context(), b, key)
			if err != nil {
				return err
			}
			a.Entries = append(a.Entries, row)
		}
		return nil
	})
	return a, err
}

// describeEntry returns the row of a key, which exists.
func describeEntry(ctx context.Context, b stoat.KeySpace, key []byte) (row entryRow, err error) {
	if err := ctx.Err(); err != nil {
		return row, err
	}
	row.ID = formatBytes(key)
	row.Key = head(bytes.Clone(key), len(key), keyShown)
	size, err := b.Size(key)
	if err != nil {
		return row, err
	}
	var start []byte
	if size < previewFrom {
		if start, err = b.Get(key); err != nil {
			return row, err
		}
		start = bytes.Clone(start[:min(len(start), previewShown+1)])
	}
	row.Value = head(start, size, previewShown)
	row.Expires, err = expiryOf(b, key)
	return row, err
}

// expiryOf returns when a key expires, to the millisecond; nil for never.
func expiryOf(b stoat.KeySpace, key []byte) (*time.Time, error) {
	ttl, expires, err := b.TTL(key)
	if err != nil || !expires {
		return nil, err
	}
	at := time.Now().Add(ttl).Round(time.Millisecond).UTC()
	return &at, nil
}
