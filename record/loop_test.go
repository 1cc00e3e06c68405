package record_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// counted is a record with a number that loops change.
type counted struct {
	ID    int64  `stoat:"id,key"`
	Age   int    `stoat:"age,index"`
	Email string `stoat:"email,unique"`
}

// openCounted returns a collection of records 1 to n whose age is their number.
func openCounted(t *testing.T, n int) (*stoat.DB, *record.Collection[counted]) {
	t.Helper()
	db := openMemory(t)
	c := mustOpen[counted](t, db, "counted", nil)
	for i := range n {
		put(t, db, c, &counted{int64(i + 1), i + 1, string(rune('a' + i))})
	}
	return db, c
}

func TestAll_visitsRecordsOnceThatTheBodyMoves(t *testing.T) {
	for _, q := range []struct {
		where record.Predicate
		move  func(*counted)
	}{
		{record.In("age", 1, 2, 3, 4), func(r *counted) { r.Age++ }},
		{record.In("age", 1, 2, 3, 4), func(r *counted) { r.Age = 5 - r.Age }},
		{record.Or(record.Lt("age", 2), record.Gt("age", 2)), func(r *counted) { r.Age += 10 }},
		{record.In("id", 1, 2, 3, 4), func(r *counted) { r.ID, r.Email = r.ID+1, r.Email+"x" }},
		{record.In("email", "a", "b", "c", "d"), func(r *counted) { r.Email += "x" }},
	} {
		for _, reverse := range []bool{false, true} {
			db, c := openCounted(t, 4)
			query := c.Query().Where(q.where)
			if reverse {
				query = query.Reverse()
			}
			update(t, db, func(tx *stoat.Tx) error {
				want, err := query.Count(tx)
				if err != nil {
					return err
				}
				got := uint64(0)
				for r, err := range query.All(tx) {
					if err != nil {
						return err
					}
					if got++; got > want {
						break
					}
					q.move(r)
					if err := c.Put(tx, r); err != nil {
						return err
					}
				}
				wantEqual(t, "visits "+q.where.String(), got, want)
				return c.Verify(tx)
			})
		}
	}
}

func TestKeys_leavesOutWhatTheBodyDeletes(t *testing.T) {
	for _, where := range []record.Predicate{
		record.Between("age", 1, 4), record.In("age", 1, 2, 3, 4),
		record.In("email", "a", "b", "c", "d"),
	} {
		db, c := openCounted(t, 4)
		update(t, db, func(tx *stoat.Tx) error {
			var got []tuple.Tuple
			for key, err := range c.Query().Where(where).Keys(tx) {
				if err != nil {
					return err
				}
				got = append(got, key)
				for _, id := range []int{2, 3} {
					if err := c.Delete(tx, id); err != nil {
						return err
					}
				}
			}
			wantEqual(t, where.String(), got, []tuple.Tuple{{int64(1)}, {int64(4)}})
			return c.Verify(tx)
		})
	}
}

func TestQuery_hasNoLargestLimit(t *testing.T) {
	db, c := openCounted(t, 4)
	// Ordered by nothing that an index gives.
	q := c.Query().OrderBy("age", "email").Offset(1).Limit(math.MaxInt)
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records", len(collect(t, q.All(tx))), 3)
		wantEqual(t, "explanation", q.Explain(tx), fmt.Sprintf("Of 4 records of counted, it scans "+
			"all. It keeps the first %d by age, email in memory.", math.MaxInt))
		return nil
	})
}
