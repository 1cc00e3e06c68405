package studio

import (
	"testing"
	"time"
)

func TestBudget_endsAPageAfterItsFirstRow(t *testing.T) {
	late := func() *budget {
		b := newBudget(2)
		b.end = time.Now().Add(-time.Second)
		return b
	}
	for _, c := range []struct {
		name string
		b    *budget
		rows []int // sizes
		want bool
	}{
		{"empty", newBudget(2), nil, false}, {"small", newBudget(2), []int{1}, false},
		{"at the limit", newBudget(2), []int{1, 1}, true},
		{"full", newBudget(2), []int{pageBytes}, false},
		{"too large", newBudget(2), []int{pageBytes + 1}, true},
		{"late and empty", late(), nil, false}, {"late", late(), []int{1}, true},
	} {
		for _, size := range c.rows {
			c.b.add(size)
		}
		if got := c.b.spent(); got != c.want {
			t.Errorf("%s: spent is %t", c.name, got)
		}
	}
}
