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
	r, after := stoat.Prefix(p.bytes("prefix")), p.bytes("after")
	if r.Reverse = p.yes("reverse"); after == nil {
		return r
	}
	if !r.Reverse {
		if start := slices.Concat(after, []byte{0}); bytes.Compare(start, r.Start) > 0 {
			r.Start = start
		}
	} else if len(r.End) == 0 || bytes.Compare(after, r.End) < 0 {
		r.End = after
	}
	return r
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
		row := entryRow{ID: formatBytes(key), Key: *start(key, keyShown)}
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
	e.Value = head(nil, size, previewShown)
	if size < previewFrom {
		value, err := b.Get(key)
		if err != nil {
			return err
		}
		e.Value = *start(value, previewShown)
	}
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
