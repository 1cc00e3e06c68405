package studio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// entriesRead is how many bytes of values are read for a page of entries.
const entriesRead = 8 << 20

// entriesAnswer is a page of the entries of a feed.
type entriesAnswer struct {
	Entries []feedEntryRow `json:"entries"`
	Next    string         `json:"next,omitempty"` // continues after this page

	read int // bytes of the values, as they are stored
}

// feedEntryRow is an entry of a feed.
type feedEntryRow struct {
	Seq      uint64          `json:"seq,string"`
	Time     time.Time       `json:"time"`
	Redacted bool            `json:"redacted"`
	Value    json.RawMessage `json:"value"` // an object of the fields, other JSON, or a blob
}

func (h *Handler) entries(r *http.Request) (any, error) {
	p := parametersOf(r)
	name, limit := p.text("name"), p.limit()
	reverse, after := p.yes("reverse"), p.text("after")
	seq, err := strconv.ParseUint(after, 10, 64)
	if after != "" && err != nil {
		p.wrong("after", "what the page before says is next")
	}
	if p.err != nil {
		return nil, p.err
	}
	a := entriesAnswer{Entries: []feedEntryRow{}}
	err = h.view(r.Context(), func(tx *stoat.Tx) error {
		s, err := openStored(tx, name, feedBucket, feed.OpenStored)
		if err != nil {
			return err
		}
		q := s.Query().WithRedacted()
		switch {
		case reverse && after != "":
			q = q.Before(seq).Reverse()
		case reverse:
			q = q.Reverse()
		case after != "":
			q = q.After(seq)
		}
		return a.fill(r.Context(), tx, q, limit, s.Encoding())
	})
	return a, err
}

// fill adds the entries of a query until they are enough, in number, bytes or time.
func (a *entriesAnswer) fill(
	ctx context.Context, tx *stoat.Tx, q feed.Query[feed.StoredValue], limit int,
	encoding string,
) error {
	left := newBudget(limit)
	for e, err := range q.Limit(limit + 1).All(tx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n := len(a.Entries); left.spent() || a.read > entriesRead {
			a.Next = strconv.FormatUint(a.Entries[n-1].Seq, 10)
			break
		}
		row := feedEntryRow{Seq: e.Seq, Time: e.At.UTC(), Redacted: e.Redacted}
		row.Value, err = json.Marshal(showValue(e, encoding))
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		left.add(len(row.Value))
		a.read += len(e.Value.Bytes())
		a.Entries = append(a.Entries, row)
	}
	return nil
}

// showValue returns what is shown of the value of an entry: the fields of a struct, or short JSON
// as it is; else the first bytes, as of a struct that cannot be decoded.
func showValue(e feed.Entry[feed.StoredValue], encoding string) any {
	stored, names := e.Value.Bytes(), e.Value.Names()
	switch {
	case e.Redacted:
		return nil
	case encoding == "json":
		return recordCell(stored)
	case encoding == "struct" && len(stored) <= partsFrom && len(names) > 0:
		if all, ok := showFields(e.Value, names); ok {
			return all
		}
	}
	return head(stored, len(stored), cellShown)
}

// showFields returns what is shown of the fields of a struct, in their order; ok is false if one of
// them is damaged.
func showFields(v feed.StoredValue, names []string) (all json.RawMessage, ok bool) {
	all = append(all, '{')
	for i, name := range names {
		value, err := v.Field(name)
		if err != nil {
			return nil, false
		}
		if i > 0 {
			all = append(all, ',')
		}
		for _, part := range []any{name, show(value)} {
			p, err := json.Marshal(part)
			if err != nil {
				return nil, false
			}
			all = append(append(all, p...), ':')
		}
		all = all[:len(all)-1]
	}
	return append(all, '}'), true
}
