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
	Balance float64
	Logins  int32
	About   string
}

func TestAggregates_ofRecordsOfWhichTheHeadIsRead(t *testing.T) {
	const n = 4000
	db := openMemory(t)
	c := mustOpen[customer](t, db, "customers", nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var all []customer
	err := db.Update(func(tx *stoat.Tx) error {
		for i := range int64(n) {
			a := customer{i, fmt.Sprintf("user_%d", i), float64(rng.IntN(1e6)) / 4, rng.Int32N(100),
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
	var sum, most float64
	var few uint64
	for _, a := range all {
		if a.Logins < 10 {
			sum, few = sum+a.Balance, few+1
		}
		most = max(most, a.Balance)
	}
	view(t, db, func(tx *stoat.Tx) error {
		q := c.Query().Where(record.Lt("Logins", 10))
		if got, err := q.Sum(tx, "Balance"); got != sum || err != nil {
			t.Errorf("the sum is %v, %v; want %v", got, err, sum)
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
