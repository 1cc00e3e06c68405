package load

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// orderedRun returns a run of an order that takes no time.
func orderedRun(t testing.TB, o order, e engine.Engine) *run {
	t.Helper()
	job, p := tinyJob(t, valueSizes()[0]), tiny(valueSizes()[0])
	job.Task, p.script = orderPrefix+o.name, p.entries
	return &run{job: job, state: o.name, plan: p, engine: e}
}

func arranged(n int, o order, seed uint64) []uint32 {
	numbers := make([]uint32, n)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	o.arrange(numbers, rand.New(rand.NewPCG(seed, 0)))
	return numbers
}

func TestOrders_haveEachNumberOnce(t *testing.T) {
	const n = 700
	for _, o := range orders() {
		numbers := arranged(n, o, 1)
		slices.Sort(numbers)
		for i, number := range numbers {
			if number != uint32(i) {
				t.Fatalf("%s: the %d. number is %d", o.name, i, number)
			}
		}
	}
}

func TestOrders_areWhatTheirNamesSay(t *testing.T) {
	const n = 700
	byName := make(map[string][]uint32)
	for _, o := range orders() {
		byName[o.name] = arranged(n, o, 1)
	}
	up := byName["sequential"]
	if !slices.IsSorted(up) {
		t.Error("sequential numbers do not ascend")
	}
	down := slices.Clone(byName["reverse"])
	slices.Reverse(down)
	if !slices.Equal(down, up) {
		t.Error("reverse numbers do not descend")
	}
	if slices.Equal(byName["random"], up) || slices.Equal(byName["random"], byName["reverse"]) {
		t.Error("random numbers are in order")
	}
}

func TestOrders_littleEndianIsThatOfACounter(t *testing.T) {
	const n = 70_000 // which has three bytes
	numbers := arranged(n, orders()[3], 1)
	for i := range n - 1 {
		a := binary.LittleEndian.AppendUint64(nil, uint64(i))
		b := binary.LittleEndian.AppendUint64(nil, uint64(i+1))
		if (numbers[i] < numbers[i+1]) != (string(a) < string(b)) {
			t.Fatalf("counters %d and %d became %d and %d", i, i+1, numbers[i], numbers[i+1])
		}
	}
	if numbers[0] != 0 || numbers[65_536] != 1 || numbers[256] != 2 || numbers[255] < n-n/200 {
		t.Errorf("numbers %d, %d, %d, %d",
			numbers[0], numbers[65_536], numbers[256], numbers[255])
	}
}

func TestOrders_writeTheSameEntries(t *testing.T) {
	var first []string
	for _, o := range orders() {
		r := orderedRun(t, o, honest())
		if err := r.prepareWrites(func() *writes { return r.orderedWrites(o) }); err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, p := range r.script.appendPairs(nil, r.set, 0, r.loaded.total) {
			entries = append(entries, string(p.Key)+string(p.Value))
		}
		slices.Sort(entries)
		if first == nil {
			first = entries
		}
		if len(entries) != r.plan.entries || !slices.Equal(entries, first) {
			t.Errorf("%s: %d entries, the same are %t",
				o.name, len(entries), slices.Equal(entries, first))
		}
	}
}

// Each engine has one of the orders, in turn.
func TestOrderedJob_measuresEveryRowOfEveryEngine(t *testing.T) {
	for i, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		o := orders()[i%len(orders())]
		t.Run(e.Name+"/"+o.name, func(t *testing.T) {
			t.Parallel()
			samples, err := doPart(t, orderedRun(t, o, e), func(r *run) error {
				return r.ordered(o)
			})
			if err != nil {
				t.Fatal(err)
			}
			hasSamples(t, samples, orderRows(), o.name)
		})
	}
}

// hasSamples fails the test unless there are samples of the rows, and of no others.
func hasSamples(t testing.TB, samples map[string][]float64, rows []suite.Row, state string) {
	t.Helper()
	for _, row := range rows {
		if !slices.Contains(row.States, state) {
			t.Errorf("row %s has no state %s", row.Name, state)
		}
		if len(samples[row.Name]) == 0 && told(t, row.Name) {
			t.Errorf("no samples of %s", row.Name)
		}
		delete(samples, row.Name)
	}
	for name := range samples {
		t.Errorf("samples of %s, which is no row of this job", name)
	}
}

func TestOrderedJob_noticesWrongAnswers(t *testing.T) {
	for lie, want := range map[string]string{
		"lose one":             "check: key ",
		"return a short value": "a value of 127 bytes instead of 128",
		"return a wrong value": "not the last one written",
		"skip an entry":        "149 entries of",
	} {
		for _, o := range orders() {
			r := orderedRun(t, o, liar(lie))
			r.plan.calls = 500
			_, err := doPart(t, r, func(r *run) error { return r.ordered(o) })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: the error is %v", lie, o.name, err)
			}
		}
	}
}
