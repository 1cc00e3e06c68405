package record_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func TestContext_endsWhatFindsNothing(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 300 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	found := 0
	q := c.Query().Context(ctx).Filter(func(*person) bool {
		if found++; found == 100 {
			cancel()
		}
		return false
	})
	run := func(tx *stoat.Tx) error {
		for _, q := range []record.Query[person]{q, q.OrderBy("note"), q.Where(record.Ge("age", -9)),
			q.Where(record.In("home.city", "", "a", "b", "ab"))} {
			found = 0
			ctx, cancel = context.WithCancel(t.Context())
			for _, err := range q.Context(ctx).All(tx) {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", q.Explain(tx), err)
				}
			}
			if found >= 100+64 {
				t.Errorf("%s: it went on for %d records", q.Explain(tx), found)
			}
			cancel()
		}
		if _, err := c.Query().Context(ctx).Where(record.Ge("age", 0)).Sum(tx, "age"); !errors.Is(err,
			context.Canceled) {
			t.Errorf("a sum over an index ends with %v", err)
		}
		_, err := c.Query().Context(ctx).Where(record.Ne("note", "")).Count(tx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("count: %v", err)
		}
		n, err := c.Query().Context(t.Context()).Where(record.Ge("id", 0)).Count(tx)
		if n != 300 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
		return nil
	}
	view(t, db, run)
	update(t, db, run)
}
