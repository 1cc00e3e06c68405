package ssb

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// choice prepares one operation with keys drawn from random. Only the operation is timed.
type choice func(random *rand.Rand) (operation func() error)

// readRow is one of the read rows.
type readRow struct {
	name   string
	choose func(r *run, random *rand.Rand) (operation func() error)
}

// readRows returns the read rows, in the order of the report.
func readRows() []readRow {
	iterate := func(look engine.Look) func(*run, *rand.Rand) func() error {
		return func(r *run, random *rand.Rand) func() error { return r.steps(random, look) }
	}
	return []readRow{
		{"read_random", (*run).getRandom},
		{"read_sequential", (*run).getSequential},
		{"read_iterate", iterate(engine.ReadLengths)},
		{"read_iterate_touch", iterate(engine.TouchValues)},
	}
}

// readNames returns the names of the read rows.
func readNames() (names []string) {
	for _, row := range readRows() {
		names = append(names, row.name)
	}
	return names
}

// reads measures the read rows in one state. In the states reopened and capped, the database is
// reopened before each row, with limited memory from disk.
func (r *run) reads(state string) error {
	for _, row := range readRows() {
		if !r.job.Wants(row.name) {
			continue
		}
		if state == reopened || state == capped {
			if err := r.reopen(); err != nil {
				return err
			}
		}
		choose := func(random *rand.Rand) func() error { return row.choose(r, random) }
		if err := r.sample(row.name, state, 1, choose); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return nil
}

// readsCapped measures the read rows with less memory than data. The copy of the data that answers
// are compared with does not count. The database is open before and after.
func (r *run) readsCapped() error {
	if r.job.Profile != suite.Large {
		return nil
	}
	// The page cache keeps mapped files, so the database is closed before the cache is dropped.
	if err := r.store.Close(); err != nil {
		return err
	}
	if err := machine.DropCache(r.job.Dir); err != nil {
		return err
	}
	limit := max(int64(len(r.data.buf)/memoryShare), leastMemory)
	lift, err := machine.CapMemory(limit)
	if errors.Is(err, machine.ErrNoCap) {
		return r.open("main") // limits has noted it
	}
	if err != nil {
		return err
	}
	r.cap = limit
	defer func() { r.cap = 0 }()
	if err := errors.Join(r.openAndRead(), lift()); err != nil {
		return err
	}
	return r.open("main")
}

// openAndRead measures the read rows in the state capped. The database is closed before and after.
func (r *run) openAndRead() error {
	if err := r.open("main"); err != nil {
		return err
	}
	if err := r.reads(capped); err != nil {
		return err
	}
	return r.store.Close()
}

// shortReads measures transactions that are too short to time individually.
func (r *run) shortReads() error {
	if r.job.Wants("begin_rollback") {
		view := func(*rand.Rand) func() error { return r.views }
		if err := r.sample("begin_rollback", "", r.plan.calls, view); err != nil {
			return err
		}
	}
	if r.job.Wants("get_one") {
		return r.sample("get_one", "", r.plan.calls, r.getEach)
	}
	return nil
}

// sample times operations, each of which makes the given number of calls, and records the time of
// one call.
func (r *run) sample(row, state string, calls int, choose choice) error {
	samples, err := r.times(calls, r.random(row, state), choose)
	if err != nil {
		return err
	}
	r.record(row, state, samples...)
	return nil
}

// times times operations, each of which makes the given number of calls, and returns the times of
// one call.
func (r *run) times(calls int, random *rand.Rand, choose choice) ([]float64, error) {
	samples := make([]float64, 0, r.plan.reads)
	begun := time.Now()
	for range r.plan.reads {
		if len(samples) >= leastReads && time.Since(begun) > r.plan.readTime {
			break
		}
		operation := choose(random)
		start := time.Now()
		if err := operation(); err != nil {
			return nil, err
		}
		samples = append(samples, since(start)/float64(calls))
	}
	if r.cap > 0 {
		return samples, machine.CheckCached(r.job.Dir, r.cap)
	}
	return samples, nil
}

// random returns the source of a row's choices, which is the same for all engines.
func (r *run) random(row, state string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", row, state, r.job.Round)
	return rand.New(rand.NewPCG(r.job.Seed, h.Sum64()))
}

// reopen closes the database and opens it again. With limited memory, it is out of memory then.
func (r *run) reopen() error {
	if err := r.store.Close(); err != nil {
		return err
	}
	if r.cap > 0 {
		if err := machine.DropCache(r.job.Dir); err != nil {
			return err
		}
	}
	return r.open("main")
}

// prepareReads allocates what the choices need, so that they allocate nothing later.
func (r *run) prepareReads() {
	r.sorted = inKeyOrder(r.job.Order, r.data.len())
	r.keys = make([][]byte, max(r.plan.batch, r.plan.calls))
	for i := range r.keys {
		r.keys[i] = make([]byte, engine.KeyBytes)
	}
}

// keyOrder is the sequence numbers in key order; nil if that is their own order.
type keyOrder []uint32

// inKeyOrder returns the sequence numbers below n in key order.
func inKeyOrder(order engine.Order, n int) keyOrder {
	if order != engine.LittleEndian {
		return nil
	}
	numbers := make(keyOrder, n)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	slices.SortFunc(numbers, func(i, j uint32) int {
		return cmp.Compare(bits.ReverseBytes32(i), bits.ReverseBytes32(j))
	})
	return numbers
}

// at returns the sequence number at a position.
func (o keyOrder) at(i int) int {
	if o == nil {
		return i
	}
	return int(o[i])
}

func (r *run) getRandom(random *rand.Rand) func() error {
	return r.getMany(func(int) int { return random.IntN(r.data.len()) })
}

func (r *run) getSequential(*rand.Rand) func() error {
	return r.getMany(func(i int) int { return i })
}

// getMany prepares one transaction that gets the messages chosen by pick.
func (r *run) getMany(pick func(i int) int) func() error {
	keys := r.keys[:r.plan.batch]
	want := r.pick(keys, pick)
	return func() error {
		got, err := r.store.GetMany(keys)
		return compare(got, want, err)
	}
}

// getEach prepares many transactions of one random get each.
func (r *run) getEach(random *rand.Rand) func() error {
	keys := r.keys[:r.plan.calls]
	want := r.pick(keys, func(int) int { return random.IntN(r.data.len()) })
	return func() error {
		var got int
		for _, key := range keys {
			size, err := r.store.Get(key)
			if err != nil {
				return err
			}
			got += size
		}
		return compare(got, want, nil)
	}
}

// pick sets the keys and returns the total length of their values.
func (r *run) pick(keys [][]byte, pick func(i int) int) (size int) {
	for i, key := range keys {
		sequence := pick(i)
		r.job.Order.Put(key, uint64(sequence))
		size += r.data.size(sequence)
	}
	return size
}

// steps prepares a seek to a random key with enough keys after it, and the steps from there.
func (r *run) steps(random *rand.Rand, look engine.Look) func() error {
	first := random.IntN(r.data.len() - r.plan.batch + 1)
	return r.walk(first, r.plan.batch, look)
}

// walk prepares a seek to the key at a position in key order, and the steps from there.
func (r *run) walk(first, steps int, look engine.Look) func() error {
	start := r.keys[0]
	r.job.Order.Put(start, uint64(r.sorted.at(first)))
	want := engine.Walk{Entries: steps}
	for i := range steps {
		sequence := r.sorted.at(first + i)
		want.Bytes += r.data.size(sequence)
		if look == engine.TouchValues {
			want.Sum += engine.Touch(r.data.value(sequence))
		}
	}
	return func() error {
		walk, err := r.store.Iterate(start, steps, look)
		if err == nil && walk != want {
			err = fmt.Errorf("the walk saw %+v instead of %+v", walk, want)
		}
		return err
	}
}

// views begins and ends many transactions that do nothing.
func (r *run) views() error {
	for range r.plan.calls {
		if err := r.store.View(); err != nil {
			return err
		}
	}
	return nil
}

// compare returns the error of a read, or an error if it returned the wrong number of bytes.
func compare(got, want int, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("values of %d bytes instead of %d", got, want)
	}
	return err
}
