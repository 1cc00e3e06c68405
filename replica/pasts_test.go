package replica

import (
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
)

// What entries have seen is the same whether it is kept or not, and what is kept has a limit: it
// grows with the square of the number of logs.
func TestPasts_keepsNoMoreThanItMay(t *testing.T) {
	a := newPeer(t, nil)
	for i := range int64(4) {
		b := newPeer(t, a)
		meet(t, a, b)
		b.put(task{ID: i})
		meet(t, a, b)
	}
	must(t, a.db.View(func(tx *stoat.Tx) error {
		n, err := a.space.in(tx)
		must(t, err)
		heads, _, err := n.barrierLogs()
		must(t, err)
		all, few := newPasts(n, heads, nil), newPasts(n, heads, nil)
		few.most = 2 * len(heads)
		for range 2 {
			for i, h := range heads {
				x, err := all.of(i, h.last())
				must(t, err)
				y, err := few.of(i, h.last())
				must(t, err)
				if !slices.Equal(x, y) {
					t.Errorf("log %d has seen %v, or %v", i, x, y)
				}
			}
		}
		if len(all.known) != len(heads) || len(few.known) != 2 {
			t.Errorf("of %d logs, %d and %d are kept", len(heads), len(all.known), len(few.known))
		}
		return nil
	}))
}
