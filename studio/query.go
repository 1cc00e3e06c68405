package studio

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/studio/internal/ask"
)

// Bounds of a query.
const (
	queryTime   = 8 * time.Second // to find a first record, or to sort
	skippedMost = 10_000          // records before a page that no index gives
)

// queryAnswer is a page of the result of a query.
type queryAnswer struct {
	Plan    string              `json:"plan"`
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
	Next    string              `json:"next,omitempty"` // continues after this page
	Cut     bool                `json:"cut,omitempty"`  // there are more, but no next page
	Micros  int64               `json:"micros"`
}

// pageStart is where a page of a result begins.
type pageStart struct {
	left    int    // records that the query's own limit leaves; 0: no limit
	mark    []byte // of the record before; or nil
	skipped int    // records before, if no index gives the order
}

// append appends the start as parsePageStart reads it.
func (at *pageStart) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(at.left))
	dst = binary.AppendUvarint(dst, uint64(at.skipped))
	return append(dst, at.mark...)
}

// parsePageStart parses a start; that of the first page is empty.
func parsePageStart(p []byte) (at pageStart, ok bool) {
	if p == nil {
		return at, true
	}
	left, n := binary.Uvarint(p)
	if n <= 0 || left > 1<<30 {
		return at, false
	}
	skipped, m := binary.Uvarint(p[n:])
	if m <= 0 || skipped > skippedMost {
		return at, false
	}
	return pageStart{int(left), p[n+m:], int(skipped)}, true
}

func (h *Handler) query(r *http.Request) (any, error) {
	p := parametersOf(r)
	name, text, limit := p.text("name"), p.text("q"), p.limit()
	at, ok := parsePageStart(p.bytes("after"))
	if !ok {
		p.wrong("after", "what the page before says is next")
	}
	if p.err != nil {
		return nil, p.err
	}
	a := queryAnswer{Rows: [][]json.RawMessage{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		s, err := openStored(tx, name, collectionBucket, record.OpenStored)
		if err != nil {
			return err
		}
		q, err := ask.Parse(text, s.Fields(), tx.Now())
		if err != nil {
			return wrongQuery(err)
		}
		if n := q.Limit(); n > 0 && at.mark == nil && at.skipped == 0 {
			at.left = min(n, 1<<30)
		}
		return a.run(r.Context(), tx, s, q.Of(s), at, limit)
	})
	return a, err
}

// wrongQuery returns the error of a query that cannot be parsed.
func wrongQuery(err error) error {
	p := &problem{status: http.StatusBadRequest, text: err.Error()}
	var at *ask.Error
	if errors.As(err, &at) {
		p.column = at.Column
	}
	return p
}

// run reads the page of a result from a start on.
func (a *queryAnswer) run(
	ctx context.Context, tx *stoat.Tx, s *record.Stored, q record.Query[record.Row], at pageStart,
	limit int,
) error {
	start := time.Now()
	if at.left > 0 {
		limit = min(limit, at.left)
	}
	page, paged := q.AfterMark(at.mark), true
	if page.Err() != nil && len(at.mark) == 0 {
		page, paged = q.Offset(at.skipped), false
	}
	if err := page.Err(); err != nil {
		return badf("%s", err)
	}
	page = page.Limit(limit + 1) // the last says whether more follow
	a.Plan = page.Limit(limit).Explain(tx)
	cells := newCells(s)
	a.Columns = cells.columns
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	left, last := newBudget(limit), record.Row{}
	for row, err := range page.Context(ctx).Rows(tx) {
		if errors.Is(err, context.DeadlineExceeded) && len(a.Rows) == 0 {
			return problemf(http.StatusServiceUnavailable, "no record was found within %s: ask for less, "+
				"or for fields of an index. %s", queryTime, a.Plan)
		}
		if left.spent() || errors.Is(err, context.DeadlineExceeded) {
			if err := a.goOn(q, &last, at, paged); err != nil {
				return err
			}
			break
		}
		if err != nil {
			return err
		}
		cellsOf, bytes, err := cells.row(row)
		if err != nil {
			return err
		}
		a.Rows, last = append(a.Rows, cellsOf), row
		left.add(bytes)
	}
	a.Micros = time.Since(start).Microseconds()
	return nil
}

// goOn sets where the next page begins, unless the query wants no more records.
func (a *queryAnswer) goOn(
	q record.Query[record.Row], last *record.Row, at pageStart, paged bool,
) (err error) {
	n := len(a.Rows)
	if at.left > 0 {
		if at.left -= n; at.left <= 0 {
			return nil
		}
	}
	if paged {
		at.mark, err = q.Mark(last)
	} else if at.skipped += n; at.skipped > skippedMost {
		a.Cut = true // an index would give more
		return nil
	}
	if err == nil {
		a.Next = formatBytes(at.append(nil))
	}
	return err
}
