package load

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/stoatdb/stoat/bench/machine"
)

// order is an order in which the same entries are loaded, once each. Their numbers and values are
// the same in all orders, and their keys sort as the numbers do.
type order struct {
	name string // of the state of its rows
	// arrange puts the numbers 0, 1, 2 and so on into the order.
	arrange func(numbers []uint32, random *rand.Rand)
}

// orders returns them in the order of the report.
func orders() []order {
	return []order{
		{"random", func(numbers []uint32, random *rand.Rand) {
			random.Shuffle(len(numbers), func(i, j int) {
				numbers[i], numbers[j] = numbers[j], numbers[i]
			})
		}},
		{"sequential", func([]uint32, *rand.Rand) {}},
		{"reverse", func(numbers []uint32, _ *rand.Rand) { slices.Reverse(numbers) }},
		{"little-endian", func(numbers []uint32, _ *rand.Rand) { arrangeLittleEndian(numbers) }},
	}
}

// arrangeLittleEndian puts the numbers into the order of a counter whose keys are its little-endian
// bytes: the i-th number is the rank of i's key among all keys.
func arrangeLittleEndian(numbers []uint32) {
	counters := slices.Clone(numbers)
	slices.SortFunc(counters, func(i, j uint32) int {
		return cmp.Compare(bits.ReverseBytes32(i), bits.ReverseBytes32(j))
	})
	for rank, i := range counters {
		numbers[i] = uint32(rank)
	}
}

// ordered does the job of one order.
func (r *run) ordered(o order) error {
	prepare := func() error { return r.prepareWrites(func() *writes { return r.orderedWrites(o) }) }
	if err := r.steps("load", prepare, r.open, r.loadOrdered); err != nil {
		return err
	}
	return r.steps("check", r.open, r.check, r.close)
}

// orderedWrites prepares all writes of an order.
func (r *run) orderedWrites(o order) *writes {
	numbers := make([]uint32, r.plan.entries)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	o.arrange(numbers, r.random("order"))
	r.script.drawInOrder(r.set, numbers)
	return &writes{total: len(numbers), part: len(numbers)}
}

// loadOrdered makes the writes, then closes the database and measures its size.
func (r *run) loadOrdered() error {
	w := r.loaded
	d, err := r.writeAndClose(w, r.plan.closing)
	if err != nil {
		return err
	}
	r.record("order_load", float64(d.written)/float64(w.total))
	if d.ended {
		r.record("order_load_settled", float64(d.settled)/float64(w.total))
	}
	size, err := machine.SizeOf(r.dir())
	if err != nil {
		return err
	}
	r.record("order_size", float64(size.Apparent)/float64(r.set.present))
	return nil
}
