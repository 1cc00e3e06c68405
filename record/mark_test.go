package record_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

func TestAfterMark_isAfterTheRecordOfTheMark(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 50 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	view(t, db, func(tx *stoat.Tx) error {
		for _, order := range [][]string{{}, {"home.city", "age"}, {"level", "id"}, {"email"}} {
			q := c.Query().OrderBy(order...)
			for p, err := range c.All(tx) {
				ok(t, err)
				mark, err := q.Mark(p)
				ok(t, err)
				wantEqual(t, "keys", collect(t, q.AfterMark(mark).Keys(tx)),
					collect(t, q.After(p).Keys(tx)))
				for n := 1; n < len(mark); n++ {
					if q.AfterMark(mark[:n]).Err() == nil {
						t.Fatalf("%d bytes of the mark %x are one", n, mark)
					}
				}
				if q.AfterMark(append(mark, 2)).Err() == nil {
					t.Fatal("a byte more is a mark, too")
				}
			}
			if mark, err := q.Mark(nil); mark != nil || err != nil {
				t.Errorf("mark %x of no record, %v", mark, err)
			}
		}
		_, err := c.Query().Mark(randomPerson(r, 1))
		wantError(t, err, "OrderBy")
		wantError(t, c.Query().AfterMark(nil).Err(), "OrderBy")
		return nil
	})
}

func TestAfterMark_survivesAnyBytes(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 20 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	refused := 0
	view(t, db, func(tx *stoat.Tx) error {
		q := c.Query().OrderBy("home.city", "age")
		for range 2000 {
			mark := make([]byte, 1+r.IntN(12))
			for i := range mark {
				mark[i] = []byte{2, 4, 5, 0x14, 0x15, 0x28, 'a', 0, 1, byte(r.Uint32())}[r.IntN(10)]
			}
			page := q.AfterMark(mark)
			if page.Err() != nil {
				refused++
				continue
			}
			collect(t, page.Keys(tx))
		}
		return nil
	})
	if refused == 0 || refused == 2000 {
		t.Errorf("%d marks were refused", refused)
	}
}

func TestAnyOrder_readsPagesByTheSameIndex(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 100 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	view(t, db, func(tx *stoat.Tx) error {
		for range 200 {
			q := c.Query().Where(randomCondition(r, 1).Predicate)
			if r.IntN(2) == 0 {
				q = q.Where(randomCondition(r, 1).Predicate)
			}
			all := q.AnyOrder()
			wantEqual(t, "keys: "+q.Explain(tx), sortedKeys(collect(t, all.Keys(tx))),
				sortedKeys(collect(t, q.Keys(tx))))
			if err := all.After(nil).Err(); err != nil {
				t.Fatalf("%s: %v", q.Explain(tx), err)
			}
			var keys []tuple.Tuple
			for last := (*person)(nil); ; {
				page := collect(t, all.After(last).Limit(3).All(tx))
				if len(page) == 0 {
					break
				}
				for _, p := range page {
					keys = append(keys, tuple.Tuple{p.ID})
				}
				last = page[len(page)-1]
			}
			wantEqual(t, "keys by page: "+q.Explain(tx), keys, collect(t, q.Keys(tx)))
		}
		ages := c.Query().Where(record.Ge("age", 3)).AnyOrder().After(nil).Explain(tx)
		wantError(t, fmt.Errorf("%s", ages), "a range of the index age")
		return nil
	})
}

// sortedKeys returns integer keys in order.
func sortedKeys(keys []tuple.Tuple) []int64 {
	var all []int64
	for _, k := range keys {
		id, _ := k[0].(int64)
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}
