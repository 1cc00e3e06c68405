package load

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// doCapped does both parts of the job of capped reads, each in a run of its own as in two
// processes, and returns what they recorded.
func doCapped(t testing.TB, job suite.Job, p plan, e engine.Engine) (map[string][]float64, error) {
	t.Helper()
	name := job.Task
	first := &run{job: job, state: name, plan: p, engine: e}
	first.job.Task = cappedPrefix + name
	if samples, err := doPart(t, first, (*run).loadForReads); err != nil || len(samples) > 0 {
		t.Fatalf("samples of the load %v: %v", samples, err)
	}
	second := &run{job: job, state: name, plan: p, engine: e}
	second.job.Task = cappedPrefix + name + cappedSuffix
	return doPart(t, second, (*run).readsCapped)
}

// Each engine has one of the sizes, in turn. They must not run at once: a cap is for the process.
func TestCappedJob_measuresEveryRowOfEveryEngine(t *testing.T) {
	for i, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		v := valueSizes()[i%len(valueSizes())]
		t.Run(e.Name+"/"+v.name, func(t *testing.T) {
			samples, err := doCapped(t, tinyJob(t, v), tiny(v), e)
			if err != nil {
				t.Fatal(err)
			}
			hasSamples(t, samples, cappedRows(), v.name)
		})
	}
}

func TestCappedJob_opensTheEngineUnderTheCapWithSmallCaches(t *testing.T) {
	v := valueSizes()[0]
	p, e := tiny(v), honest()
	var events []string
	open := e.Open
	e.Open = func(dir string, o engine.Options) (engine.Store, error) {
		switch o.Cache {
		case 0:
			events = append(events, "open")
		case tinyCap / cacheShare:
			events = append(events, "open with small caches")
		}
		return open(dir, o)
	}
	p.capMemory = func(bytes int64) (func() error, error) {
		if bytes == tinyCap {
			events = append(events, "cap")
		}
		return func() error { events = append(events, "lift"); return nil }, nil
	}
	if _, err := doCapped(t, tinyJob(t, v), p, e); err != nil {
		t.Fatal(err)
	}
	want := []string{"open", "cap", "open with small caches", "lift"}
	if !slices.Equal(events, want) {
		t.Errorf("events %q", events)
	}
}

func TestCappedJob_liftsTheCapAlsoAfterAnError(t *testing.T) {
	v := valueSizes()[0]
	p, lifted := tiny(v), false
	broken := errors.New("not lifted")
	p.capMemory = func(int64) (func() error, error) {
		return func() error { lifted = true; return broken }, nil
	}
	p.calls = 500
	_, err := doCapped(t, tinyJob(t, v), p, liar("lose one"))
	if !lifted || !errors.Is(err, broken) || !strings.Contains(err.Error(), "found is false") {
		t.Errorf("lifted is %t, error %v", lifted, err)
	}
}

func TestCappedJob_readsUnderARealCap(t *testing.T) {
	if err := machine.CheckCap(); errors.Is(err, machine.ErrNoCap) {
		t.Skip(err)
	}
	v := valueSizes()[0]
	e, err := engine.Find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	p := tiny(v)
	p.capMemory = machine.CapMemory
	samples, err := doCapped(t, tinyJob(t, v), p, e)
	if err != nil {
		t.Fatal(err)
	}
	hasSamples(t, samples, cappedRows(), v.name)
}

func TestCappedJob_noticesWrongAnswers(t *testing.T) {
	for _, c := range []struct{ lie, row, want string }{
		{"lose one", "capped_get_1", "found is false instead of true"},
		{"lose one", "capped_get_128", "found is false instead of true"},
		{"find what is absent", "capped_get_128", "found is true instead of false"},
		{"return a wrong value", "capped_get_1", "not the last one written"},
		{"return a short value", "capped_get_128", "a value of 127 bytes instead of 128"},
		{"keep the old value", "capped_get_1", "not the last one written"},
		{"skip an entry", "capped_iterate", "entries of"},
		{"skip an entry's key", "capped_iterate_keys", "entries of"},
	} {
		job, p := tinyJob(t, valueSizes()[0]), tiny(valueSizes()[0])
		job.Rows, p.calls, p.capped.parallelGets = []string{c.row}, 500, 50
		_, err := doCapped(t, job, p, liar(c.lie))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: the error is %v", c.lie, c.row, err)
		}
	}
}

func TestPlan_capsAtAQuarterOfTheData(t *testing.T) {
	for _, v := range valueSizes() {
		if p := newPlan(suite.Settings{Profile: suite.Quick, Rounds: 1}, v, 0); p.cap != 0 {
			t.Errorf("quick, %s: a cap of %d bytes", v.name, p.cap)
		}
		p := newPlan(suite.Settings{Profile: suite.Full, N: 1_500_000, Rounds: 1}, v, 0)
		if data := p.presentBytes(); p.cap < leastMemory || p.cap != data/4 {
			t.Errorf("%s: a cap of %d bytes for %d", v.name, p.cap, data)
		}
	}
}

func TestEffort_endsAtItsLimitButHasASample(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		limit   time.Duration
		samples int
		want    bool
	}{
		{0, 4, false}, {0, 5, true}, {time.Minute, 0, false}, {time.Minute, 1, true},
		{2 * time.Hour, 4, false}, {2 * time.Hour, 5, true},
	} {
		if got := (effort{limit: c.limit}).enough(c.samples, 5, long); got != c.want {
			t.Errorf("limit %v, %d samples: enough is %t", c.limit, c.samples, got)
		}
	}
}
