package load

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
)

// besideRun returns a run of gets beside a load that takes no time.
func besideRun(t testing.TB, v valueSize, e engine.Engine) *run {
	t.Helper()
	job, p := tinyJob(t, v), tiny(v)
	job.Task, p.script = besidePrefix+v.name, p.entries
	return &run{job: job, state: v.name, plan: p, engine: e}
}

// Each engine has one of the sizes, in turn.
func TestBesideJob_measuresEveryRowOfEveryEngine(t *testing.T) {
	for i, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		v := valueSizes()[i%len(valueSizes())]
		t.Run(e.Name+"/"+v.name, func(t *testing.T) {
			t.Parallel()
			samples, err := doPart(t, besideRun(t, v, e), (*run).besides)
			if err != nil {
				t.Fatal(err)
			}
			p50, p99, p999 := samples["beside_p50"], samples["beside_p99"], samples["beside_p999"]
			if len(p50) == 1 && (p50[0] <= 0 || p50[0] > p99[0] || p99[0] > p999[0]) {
				t.Errorf("samples %v", samples)
			}
			hasSamples(t, samples, besideRows(), v.name)
		})
	}
}

func TestBesideJob_noticesWrongAnswers(t *testing.T) {
	for lie, want := range map[string]string{
		"lose one":             "found is false instead of true",
		"keep the old value":   "not the last one written",
		"find what is absent":  "found is true instead of false",
		"return a short value": "get during the load: key ",
		"return a wrong value": "get during the load: key ",
		"skip an entry":        "entries of",
	} {
		r := besideRun(t, valueSizes()[0], liar(lie))
		r.plan.calls = 500
		_, err := doPart(t, r, (*run).besides)
		if err == nil || !strings.Contains(err.Error(), want) {
			// Of a lie about few keys the gets beside the load may be the first to hear.
			if err == nil || !strings.Contains(err.Error(), "get during the load") {
				t.Errorf("%s: the error is %v", lie, err)
			}
		}
	}
}

// newBystander returns one whose set and script have two values of the number 3, the second of
// which overwrites the first, and a store that has the value of the version.
func newBystander(t testing.TB, version int) *pacedReader {
	t.Helper()
	set, script := newSet(t, 10, 128, 1), newTestScript(t, 3)
	script.drawInOrder(set, []uint32{3, 5, 3})
	store := &mapStore{pairs: make(map[string][]byte)}
	pairs := script.appendPairs(nil, set, 0, 3)
	pairs = append(pairs[1:2], pairs[version])
	if err := store.Write(pairs); err != nil {
		t.Fatal(err)
	}
	return &pacedReader{
		store: store, set: set, script: script, acked: new(atomic.Int64),
		random: rand.New(rand.NewPCG(1, 2)), buf: make([]byte, 128),
	}
}

func TestBystander_acceptsWhatWasWrittenOrOverwritesIt(t *testing.T) {
	for _, c := range []struct {
		version int // of number 3 in the store
		line    int // that is got
		ok      bool
	}{
		{0, 0, true}, {2, 0, true}, {2, 2, true}, {0, 2, false}, {0, 1, true}, {2, 1, true},
	} {
		_, err := newBystander(t, c.version).get(c.line, time.Now())
		if (err == nil) != c.ok {
			t.Errorf("line %d, with what line %d wrote: %v", c.line, c.version, err)
		}
	}
}

func TestBystander_noticesWhatIsLost(t *testing.T) {
	b := newBystander(t, 0)
	b.store = &mapStore{}
	if _, err := b.get(0, time.Now()); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v", err)
	}
}

func TestBystander_getsWhatIsAcknowledgedAtLeastOnce(t *testing.T) {
	b := newBystander(t, 0)
	b.pace = time.Hour
	done := make(chan struct{})
	close(done)
	if latencies, err := b.read(done); err != nil || len(latencies) > 0 {
		t.Errorf("%d gets with nothing acknowledged: %v", len(latencies), err)
	}
	b.acked.Store(2) // so that the third line, which the store denies, must not be got
	for range 20 {
		if latencies, err := b.read(done); err != nil || len(latencies) != 1 {
			t.Fatalf("%d gets: %v", len(latencies), err)
		}
	}
}

func TestBystander_countsFromWhenAGetWasDue(t *testing.T) {
	const late = time.Hour
	latency, err := newBystander(t, 0).get(0, time.Now().Add(-late))
	if err != nil || latency < late {
		t.Errorf("latency %v: %v", latency, err)
	}
}

func TestWithin_isTheLeastThatTheShareDoesNotExceed(t *testing.T) {
	times := make([]time.Duration, 1000)
	for i := range times {
		times[i] = time.Duration(i + 1)
	}
	for share, want := range map[float64]float64{0.5: 500, 0.99: 990, 0.999: 999} {
		if got := within(times, share); got != want {
			t.Errorf("%v of 1,000: %v instead of %v", share, got, want)
		}
		if got := within(times[:1], share); got != 1 {
			t.Errorf("%v of one: %v", share, got)
		}
	}
}

func TestNumberOf_isThatOfTheKey(t *testing.T) {
	s := newSet(t, 10, 128, 1)
	key := make([]byte, keyBytes)
	for _, number := range []uint32{0, 7, 1234567890, 4294967295} {
		s.putKey(key, number)
		if got := numberOf(key); got != number {
			t.Errorf("number %d instead of %d", got, number)
		}
	}
}
