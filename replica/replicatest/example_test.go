package replicatest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
	"github.com/stoatdb/stoat/replica/replicatest"
)

// Stock is how much of something there is.
type Stock struct {
	Name  string `stoat:"name,key"`
	Count int64  `stoat:"count,merge=max"` // what was counted; counts only grow
}

// stocks is what the application keeps of a replica.
type stocks = *record.Collection[Stock]

func count(tx *stoat.Tx, s stocks, random *rand.Rand) error {
	name := []string{"apples", "pears"}[random.IntN(2)]
	return s.Put(tx, &Stock{Name: name, Count: random.Int64N(100)})
}

// app is the application under test.
func app() *replicatest.App[stocks] {
	return &replicatest.App[stocks]{
		Open: func(_ *stoat.DB, space *replica.Space) (stocks, error) {
			return replica.Collection[Stock](space, "stocks", nil)
		},
		Operations: []replicatest.Operation[stocks]{{Name: "count", Do: count}},
		Check: func(tx *stoat.Tx, s stocks) error {
			n, err := s.Count(tx)
			if err == nil && n > 2 {
				err = fmt.Errorf("%d names", n)
			}
			return err
		},
	}
}

// A test of an application that counts apples. The function belongs in a _test file, as
// TestStocks.
func Example() {
	_ = func(t *testing.T) {
		replicatest.Run(t, app(), nil)
	}
}
