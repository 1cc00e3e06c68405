package record_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// pages reads the result of a query page by page, each in a way of its own, and returns the keys;
// and false if nothing gives the order.
func pages(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, q record.Query[person],
) (keys []int64, ok bool) {
	t.Helper()
	last := (*person)(nil)
	for {
		page := q.After(last).Limit(1 + r.IntN(5))
		if err := page.Err(); err != nil {
			wantError(t, err, `collection "people"`, "provide the order")
			return nil, false
		}
		got := collect(t, page.All(tx))
		if n, err := page.Count(tx); n != uint64(len(got)) || err != nil {
			t.Fatalf("count %d of %d, %v: %s", n, len(got), err, page.Explain(tx))
		}
		for i, key := range collect(t, page.Keys(tx)) {
			wantEqual(t, "key: "+page.Explain(tx), key, tuple.Tuple{got[i].ID})
		}
		if len(got) == 0 {
			return keys, true
		}
		for _, p := range got {
			keys = append(keys, p.ID)
		}
		last = got[len(got)-1]
	}
}

func TestAfter_readsTheWholeResultInPages(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
		db := openMemory(t)
		c := mustOpen(t, db, "people", personOptions(codec))
		r := newRand(t)
		for i := range 100 {
			put(t, db, c, randomPerson(r, int64(i)-50))
		}
		served := 0
		read := func(tx *stoat.Tx) error {
			for range 100 {
				q := c.Query()
				for range r.IntN(3) {
					q = q.Where(randomCondition(r, 1).Predicate)
				}
				order := [][]string{{}, {"id"}, {"age"}, {"age", "id"}, {"home.city", "age"}, {"level"},
					{"email"}, {"home.city", "home.zip"}, {"score"}, {"note"}}[r.IntN(10)]
				if q = q.OrderBy(order...); r.IntN(2) == 0 {
					q = q.Reverse()
				}
				var want []int64
				for _, p := range collect(t, q.All(tx)) {
					want = append(want, p.ID)
				}
				if got, ok := pages(t, r, tx, q); ok {
					wantEqual(t, "pages: "+q.Explain(tx), got, want)
					if len(got) > 5 { // and so takes more than a page
						served++
					}
				}
			}
			return nil
		}
		view(t, db, read)
		update(t, db, read)
		if served < 50 {
			t.Errorf("%d of 200 queries were read in several pages", served)
		}
	}
}

func TestAfter_goesOnBehindWhatIsGone(t *testing.T) {
	db, c := openCounted(t, 9)
	page := c.Query().OrderBy("age").Limit(3)
	update(t, db, func(tx *stoat.Tx) error {
		var got []int64
		for last := (*counted)(nil); ; {
			all := collect(t, page.After(last).All(tx))
			if len(all) == 0 {
				wantEqual(t, "keys", got, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9})
				return nil
			}
			for _, last = range all {
				got = append(got, last.ID)
				if err := c.Delete(tx, last.ID); err != nil {
					return err
				}
			}
		}
	})
}

func TestAfter_needsTheFieldsOfOrderAndKeyOnly(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[pair](t, db, "pairs", nil)
	for i := range 12 {
		put(t, db, c, &pair{string(rune('a' + i/4)), i % 4, fmt.Sprint("c", i%2)})
	}
	view(t, db, func(tx *stoat.Tx) error {
		for _, test := range []struct {
			q    record.Query[pair]
			want tuple.Tuple // the first key
		}{
			{c.Query().OrderBy().After(&pair{A: "b", B: 3}), tuple.Tuple{"c", int64(0)}},
			{c.Query().OrderBy("a").After(&pair{A: "b", B: 1}), tuple.Tuple{"b", int64(2)}},
			{c.Query().OrderBy("a").Desc().After(&pair{A: "b"}), tuple.Tuple{"a", int64(3)}},
			{c.Query().Where(record.Eq("a", "b")).OrderBy("b").After(&pair{A: "b", B: 2}),
				tuple.Tuple{"b", int64(3)}},
			{c.Query().Where(record.Eq("c", "c1")).OrderBy("a").After(&pair{A: "a", B: 3}),
				tuple.Tuple{"b", int64(1)}},
			{c.Query().OrderBy("c").After(&pair{A: "c", B: 2, C: "c0"}), tuple.Tuple{"a", int64(1)}},
			{c.Query().OrderBy("c").After(&pair{A: "a", B: 9, C: "c0"}).Offset(1),
				tuple.Tuple{"b", int64(2)}},
		} {
			keys := collect(t, test.q.Limit(1).Keys(tx))
			wantEqual(t, test.q.Explain(tx), keys, []tuple.Tuple{test.want})
		}
		return nil
	})
}

func TestAfter_refusesARecordThatIsNotOfTheResult(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[pair](t, db, "pairs", nil)
	for _, q := range []record.Query[pair]{
		c.Query().Where(record.Eq("a", "b")).OrderBy().After(&pair{A: "a"}),
		c.Query().Where(record.Eq("a", "b")).OrderBy("a").After(&pair{A: "c"}),
	} {
		wantError(t, q.Err(), `collection "pairs"`, "after", "another a")
	}
}

func TestAfter_ofKeysThatAFunctionReturns(t *testing.T) {
	type path struct{ Parts []string }
	db := openMemory(t)
	c := mustOpen(t, db, "paths", &record.Options[path]{Key: func(p *path) tuple.Tuple {
		var key tuple.Tuple
		for _, part := range p.Parts {
			key = append(key, part)
		}
		return key
	}})
	all := []*path{{[]string{"a"}}, {[]string{"a", "b"}}, {[]string{"a", "b", "c"}}, {[]string{"b"}}}
	put(t, db, c, all...)
	view(t, db, func(tx *stoat.Tx) error {
		for i, p := range all { // a key may be the beginning of the next one
			wantEqual(t, "behind", len(collect(t, c.Query().OrderBy().After(p).All(tx))), 3-i)
			back := c.Query().OrderBy().Reverse().After(p)
			wantEqual(t, "before", len(collect(t, back.All(tx))), i)
		}
		return nil
	})
}

func TestAfter_countsAndAddsUpWhatIsLeft(t *testing.T) {
	db, c := openCounted(t, 9)
	q := c.Query().OrderBy("age").After(&counted{ID: 6, Age: 6})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := q.Count(tx)
		sum, sumErr := q.SumInt(tx, "age")
		least, leastErr := q.Min(tx, "id")
		wantEqual(t, "numbers", []any{n, sum, least}, []any{uint64(3), int64(7 + 8 + 9), int64(7)})
		return errors.Join(err, sumErr, leastErr)
	})
}

func TestAfter_saysWhichOrderIsMissing(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	for _, test := range []struct {
		q     record.Query[person]
		parts []string
	}{
		{c.Query().After(nil), []string{"OrderBy before After"}},
		{c.Query().OrderBy("age").After(nil).OrderBy("id"), []string{"OrderBy before After"}},
		{c.Query().OrderBy("note").After(nil), []string{"order by note", "index"}},
		{c.Query().OrderBy("age", "score").After(&person{}), []string{"order by age, score"}},
		{c.Query().OrderBy("home.zip").After(&person{}), []string{"order by home.zip"}},
	} {
		wantError(t, test.q.Err(), append(test.parts, `collection "people"`)...)
		view(t, db, func(tx *stoat.Tx) error {
			_, err := test.q.First(tx)
			wantError(t, err, test.parts...)
			return nil
		})
	}
	ok := c.Query().OrderBy("home.zip").After(nil).Where(record.Eq("home.city", "Ulm"))
	if err := ok.Err(); err != nil {
		t.Errorf("behind a field with one value: %v", err)
	}
}

func TestOrderBy_withoutFieldsIsByKey(t *testing.T) {
	db, c := openCounted(t, 4)
	put(t, db, c, &counted{1, 9, "a"})
	view(t, db, func(tx *stoat.Tx) error {
		var got []int64
		for _, r := range collect(t, c.Query().Where(record.Gt("age", 2)).OrderBy().All(tx)) {
			got = append(got, r.ID)
		}
		wantEqual(t, "keys", got, []int64{1, 3, 4})
		return nil
	})
}

func TestExplain_saysHowPagesGoOn(t *testing.T) {
	db, c := openCounted(t, 4)
	view(t, db, func(tx *stoat.Tx) error {
		q := c.Query().Where(record.Eq("age", 2)).OrderBy("id").After(&counted{ID: 1}).Limit(2)
		wantEqual(t, "explanation", q.Explain(tx), "Of 4 records of counted, it takes those in a "+
			"range of the index age (age = 2). They come sorted by id. It continues after the key 1. "+
			"It stops after the first 2.")
		return nil
	})
}
