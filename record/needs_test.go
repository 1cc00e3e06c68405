package record_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// customer has fixed fields, which the records begin with, and texts.
type customer struct {
	ID      int64 `stoat:"id,key"`
	Name    string
	Logins  int32
	Balance float64
	About   string
}

func TestAggregates_ofRecordsOfWhichTheHeadIsRead(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob} {
		t.Run(codec.String(), func(t *testing.T) { checkHeads(t, codec) })
	}
}

// putCustomers stores n customers, in tables, and returns them.
func putCustomers(
	t *testing.T, db *stoat.DB, c *record.Collection[customer], n int64,
) (all []customer) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	err := db.Update(func(tx *stoat.Tx) error {
		for i := range n {
			a := customer{i, fmt.Sprintf("user_%d", i), rng.Int32N(100), float64(rng.IntN(1e6)) / 4,
				fmt.Sprintf("a text of %x and %x", rng.Uint64(), rng.Uint64())}
			all = append(all, a)
			if err := c.Put(tx, &a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	return all
}

func checkHeads(t *testing.T, codec record.Codec) {
	const n = 4000
	db := openMemory(t)
	c := mustOpen(t, db, "customers", &record.Options[customer]{Codec: codec})
	all := putCustomers(t, db, c, n)
	var sum, fewSum, richLogins, most float64
	var few uint64
	for _, a := range all {
		if a.Logins < 10 {
			fewSum, few = fewSum+a.Balance, few+1
		}
		if a.Balance > 1000 {
			richLogins += float64(a.Logins)
		}
		sum += a.Balance
		most = max(most, a.Balance)
	}
	view(t, db, func(tx *stoat.Tx) error {
		if got, err := c.Query().Sum(tx, "Balance"); got != sum || err != nil {
			t.Errorf("the sum is %v, %v; want %v", got, err, sum)
		}
		q := c.Query().Where(record.Lt("Logins", 10))
		if got, err := q.Sum(tx, "Balance"); got != fewSum || err != nil {
			t.Errorf("the sum of few is %v, %v; want %v", got, err, fewSum)
		}
		back := c.Query().Where(record.Gt("Balance", 1000.0))
		if got, err := back.Sum(tx, "Logins"); got != richLogins || err != nil {
			t.Errorf("the sum of a field before the condition's is %v, %v; want %v", got, err, richLogins)
		}
		if got, err := q.Count(tx); got != few || err != nil {
			t.Errorf("there are %d, %v; want %d", got, err, few)
		}
		if got, err := c.Query().Max(tx, "Balance"); got != most || err != nil {
			t.Errorf("the greatest is %v, %v; want %v", got, err, most)
		}
		named := q.Where(record.Ge("Name", "user_2"))
		want := uint64(0)
		for _, a := range all {
			if a.Logins < 10 && a.Name >= "user_2" {
				want++
			}
		}
		if got, err := named.Count(tx); got != want || err != nil {
			t.Errorf("%d have such a name, %v; want %d", got, err, want)
		}
		i := 0
		for a, err := range c.All(tx) { // as they are, though heads of them are in memory
			if err != nil || *a != all[i] {
				t.Fatalf("record %d is %+v, %v; want %+v", i, a, err, all[i])
			}
			i++
		}
		return nil
	})
}

// wider is customer with a field more before those that are fixed.
type wider struct {
	ID      int64 `stoat:"id,key"`
	Level   int64
	Rank    [16]byte
	Name    string
	Logins  int32
	Balance float64
	About   string
}

func TestAggregates_ofRecordsOfTwoSchemas(t *testing.T) {
	const n = 2000
	db := openMemory(t)
	want := 0.0
	fill := func(put func(tx *stoat.Tx, i int64) error) {
		t.Helper()
		err := db.Update(func(tx *stoat.Tx) error {
			for i := range int64(n) {
				if err := put(tx, i); err != nil {
					return err
				}
				want += float64(i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	text := func(i int64) string { return fmt.Sprintf("text %x", rand.NewPCG(1, uint64(i)).Uint64()) }
	newer := mustOpen[wider](t, db, "customers", nil)
	fill(func(tx *stoat.Tx, i int64) error {
		return newer.Put(tx, &wider{ID: i, Balance: float64(i), Name: text(i), About: text(i)})
	})
	c := mustOpen[customer](t, db, "customers", nil)
	fill(func(tx *stoat.Tx, i int64) error {
		return c.Put(tx, &customer{ID: n + i, Balance: float64(i), Name: text(i), About: text(i)})
	})
	view(t, db, func(tx *stoat.Tx) error {
		if got, err := c.Query().Sum(tx, "Balance"); got != want || err != nil {
			t.Errorf("the sum is %v, %v; want %v", got, err, want)
		}
		return nil
	})
}
