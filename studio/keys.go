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
	Error   string     `json:"error,omitempty"` // why the value cannot be read
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
		return a.fill(r.Context(), b, within, limit)
	})
	return a, err
}

// fill adds the rows of a range of b.
func (a *keysAnswer) fill(
	ctx context.Context, b stoat.KeySpace, within stoat.Range, limit int,
) error {
	left := newBudget(limit)
	for key := range b.Keys(within) {
		if left.spent() {
			a.Next = a.Entries[len(a.Entries)-1].ID
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		row := entryRow{ID: formatBytes(key), Key: head(bytes.Clone(key), len(key), keyShown)}
		switch err := row.describe(b, key); {
		case errors.Is(err, stoat.ErrNotFound): // it has expired since the loop began
			continue
		case errors.Is(err, stoat.ErrCorrupt):
			row.Error, row.Value = err.Error(), whole(nil)
		case err != nil:
			return err
		}
		a.Entries = append(a.Entries, row)
		left.add(len(row.ID))
	}
	return nil
}

// describe sets what is known of the value of a key.
func (e *entryRow) describe(b stoat.KeySpace, key []byte) error {
	size, err := b.Size(key)
	if err != nil {
		return err
	}
	var start []byte
	if size < previewFrom {
		if start, err = b.Get(key); err != nil {
			return err
		}
		start = bytes.Clone(start[:min(len(start), previewShown+1)])
	}
	e.Value = head(start, size, previewShown)
	e.Expires, err = expiryOf(b, key)
	return err
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
