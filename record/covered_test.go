package record_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

type reading struct {
	ID    int64   `stoat:"id,key"`
	Level int16   `stoat:"level,index"`
	Count uint32  `stoat:"count,index"`
	Value float64 `stoat:"value,index"`
}

// openReadings returns a collection of records 0 to n-1, and a way to remove the stored records
// behind the back of the indexes.
func openReadings(t testing.TB, n int64) (
	db *stoat.DB, c *record.Collection[reading], strip func(),
) {
	db = openMemory(t)
	c = mustOpen[reading](t, db, "readings", &record.Options[reading]{
		Indexes: []record.Index{{Name: "levelCount", Fields: []string{"level", "count"}}},
	})
	for i := range n {
		put(t, db, c, &reading{i, int16(i%7 - 3), uint32(i), float64(i) / 2})
	}
	return db, c, func() {
		update(t, db, func(tx *stoat.Tx) error {
			data, err := tx.Bucket([]byte("readings"))
			if err != nil {
				return err
			}
			return data.DeleteRange(stoat.Range{})
		})
	}
}

func TestSum_readsTheIndexAlone(t *testing.T) {
	db, c, strip := openReadings(t, 100)
	q := c.Query()
	sums := func() (all []string) {
		view(t, db, func(tx *stoat.Tx) error {
			for _, q := range []record.Query[reading]{
				q, q.Where(record.Ge("level", -1)), q.OrderBy("value"),
				q.Where(record.Eq("level", 2), record.Lt("count", 50)),
			} {
				level, err := q.SumInt(tx, "level")
				if err != nil {
					return err
				}
				avg, err := q.Avg(tx, "level")
				all = append(all, fmt.Sprint(level, avg))
				if err != nil {
					return err
				}
			}
			count, err := q.SumInt(tx, "count")
			if err != nil {
				return err
			}
			value, err := q.Where(record.Lt("value", 10), record.Gt("value", 3)).Sum(tx, "value")
			all = append(all, fmt.Sprint(count, value))
			return err
		})
		return all
	}
	before := sums()
	if want := "-5 -0.05"; before[0] != want {
		t.Errorf("sum and average %s, want %s", before[0], want)
	}
	strip()
	if after := sums(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("without the records %v, before %v", after, before)
	}
}

func TestSum_readsRecordsWhereAnIndexDoesNotDo(t *testing.T) {
	db, c, strip := openReadings(t, 100)
	tests := []struct {
		name    string
		q       record.Query[reading]
		missing error // of records that the index of the condition still has
	}{
		{"filter", c.Query().Filter(func(*reading) bool { return true }), nil},
		{"limit", c.Query().Limit(1000), nil},
		{"other condition", c.Query().Where(record.Ge("value", 0)), stoat.ErrCorrupt},
	}
	sums := func(want int64, missing bool) {
		t.Helper()
		view(t, db, func(tx *stoat.Tx) error {
			for _, test := range tests {
				var wantErr error
				if missing {
					wantErr = test.missing
				}
				sum, err := test.q.SumInt(tx, "count")
				if sum != want || !errors.Is(err, wantErr) {
					t.Errorf("%s: the sum is %d, %v, want %d, %v", test.name, sum, err, want,
						wantErr)
				}
			}
			return nil
		})
	}
	sums(99*100/2, false)
	strip()
	sums(0, true)
}

func BenchmarkSum_indexed(b *testing.B) {
	db, c, _ := openReadings(b, benchRecords)
	if err := db.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		view(b, db, func(tx *stoat.Tx) error {
			_, err := c.Query().Sum(tx, "value")
			return err
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}
