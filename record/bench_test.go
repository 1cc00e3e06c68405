package record_test

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// item is a record as programs have many of them.
type item struct {
	ID    int64  `stoat:"id,key"`
	Name  string `stoat:"name"`
	Email string `stoat:"email"`
	Age   int32  `stoat:"age"`
	Price float64
}

const benchRecords = 100_000

// openItems returns a database on disk with many records, in one run.
func openItems(b *testing.B) (*stoat.DB, *record.Collection[item]) {
	b.Helper()
	db, err := stoat.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	c := mustOpen[item](b, db, "items", nil)
	update(b, db, func(tx *stoat.Tx) error {
		for i := range benchRecords {
			name := fmt.Sprint("name", i)
			err := c.Put(tx, &item{int64(i), name, name + "@example.org", int32(i % 90), float64(i)})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := db.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	return db, c
}

func BenchmarkSum(b *testing.B) {
	db, c := openItems(b)
	for name, q := range map[string]record.Query[item]{
		"all":   c.Query(),
		"where": c.Query().Where(record.Ge("age", 45)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				view(b, db, func(tx *stoat.Tx) error {
					_, err := q.SumInt(tx, "age")
					return err
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
		})
	}
}

func BenchmarkScan(b *testing.B) {
	db, c := openItems(b)
	for b.Loop() {
		view(b, db, func(tx *stoat.Tx) error {
			for _, err := range c.All(tx) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkRawScan(b *testing.B) {
	db, _ := openItems(b)
	for b.Loop() {
		view(b, db, func(tx *stoat.Tx) error {
			data, err := tx.Bucket([]byte("items"))
			if err != nil {
				return err
			}
			n := 0
			for _, value := range data.Scan(stoat.Range{}) {
				n += len(value)
			}
			return nil
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkGet(b *testing.B) {
	db, c := openItems(b)
	var into item
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % benchRecords
		if err := db.View(func(tx *stoat.Tx) error { return c.GetInto(tx, i, &into) }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for name, opts := range map[string]*record.Options[item]{
		"plain": nil,
		"indexed": {Indexes: []record.Index{{Name: "age", Fields: []string{"age"}},
			{Name: "email", Fields: []string{"email"}, Unique: true}}},
	} {
		b.Run(name, func(b *testing.B) {
			db := openMemory(b)
			c := mustOpen(b, db, "items", opts)
			round := 0
			b.ReportAllocs()
			for b.Loop() {
				round++
				update(b, db, func(tx *stoat.Tx) error {
					for i := range 1000 {
						email := fmt.Sprint(i, "@example.org")
						r := &item{ID: int64(i), Name: "name", Email: email, Age: int32(i + round)}
						if err := c.Put(tx, r); err != nil {
							return err
						}
					}
					return nil
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
		})
	}
}

// BenchmarkInsertAll stores records in one transaction, with a unique index and another one, whose
// values come in no order.
func BenchmarkInsertAll(b *testing.B) {
	type row struct {
		ID    int64  `stoat:"id,key"`
		Email string `stoat:"email,unique"`
		Age   int32  `stoat:"age,index"`
	}
	const rows = 100_000
	all := func(yield func(*row) bool) {
		for i := range rows {
			n := uint32(i) * 2654435761
			if !yield(&row{int64(i), fmt.Sprintf("%08x@example.org", n), int32(n % 90)}) {
				return
			}
		}
	}
	for name, insert := range map[string]func(tx *stoat.Tx, c *record.Collection[row]) error{
		"loop": func(tx *stoat.Tx, c *record.Collection[row]) error {
			for r := range all {
				if err := c.Insert(tx, r); err != nil {
					return err
				}
			}
			return nil
		},
		"all": func(tx *stoat.Tx, c *record.Collection[row]) error {
			_, err := c.InsertAll(tx, all)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				db, err := stoat.Open(b.TempDir(), nil)
				ok(b, err)
				c := mustOpen[row](b, db, "rows", nil)
				update(b, db, func(tx *stoat.Tx) error { return insert(tx, c) })
				ok(b, db.Close())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/record")
		})
	}
}
