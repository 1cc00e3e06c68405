package ssb

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/suite"
)

// example returns the external engine that shows how to write one.
func example(t testing.TB) external.Program {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("the example of an external engine needs Node.js: ", err)
	}
	return external.Program{
		Name: "example", Command: []string{"node", "../external/example/engine.mjs"},
	}
}

func tinyPlan(job suite.Job) ([]external.Script, error) { return externalScripts(job, tiny()) }

// turn lets a program do a job, and returns what it has measured by row and state.
func turn(t testing.TB, p external.Program, job suite.Job) map[string][]float64 {
	t.Helper()
	job.Suite, job.Engine, job.Round = "ssb", p.Name, 1
	measurements, err := p.Turn(t.Context(), tinyPlan, job)
	if err != nil {
		t.Fatal(err)
	}
	samples := make(map[string][]float64)
	for _, m := range measurements {
		if m.Engine != p.Name || m.Round != 1 {
			t.Fatalf("%+v", m)
		}
		name := strings.TrimSuffix(m.Row+"/"+m.State, "/")
		samples[name] = append(samples[name], m.Values...)
	}
	return samples
}

func TestExternal_exampleConforms(t *testing.T) {
	for _, order := range []engine.Order{engine.BigEndian, engine.LittleEndian} {
		job := tinyJob(t, taskConform, order)
		job.Sync = true
		if samples := turn(t, example(t), job); len(samples) > 0 {
			t.Errorf("measured %v", samples)
		}
	}
}

func TestExternal_exampleMeasuresEveryRowThatProgramsCan(t *testing.T) {
	want := map[string]int{
		"append": 2, "open": 2, "size/apparent": 1, "size/allocated": 1,
		"read_random/loaded": 3, "read_sequential/loaded": 3, "read_iterate/loaded": 3,
		"read_random/settled": 3, "read_sequential/settled": 3, "read_iterate/settled": 3,
		"read_random/reopened": 3, "read_sequential/reopened": 3, "read_iterate/reopened": 3,
	}
	for _, order := range []engine.Order{engine.BigEndian, engine.LittleEndian} {
		samples := turn(t, example(t), tinyJob(t, taskMessages, order))
		for name, n := range want {
			if len(samples[name]) != n {
				t.Errorf("%d samples of %s instead of %d", len(samples[name]), name, n)
			}
		}
		if len(samples) != len(want) {
			t.Errorf("%d rows instead of %d: %v", len(samples), len(want), samples)
		}
		if size := samples["size/apparent"][0]; size < 397 || size > 430 {
			t.Errorf("%v bytes for a message", size)
		}
	}
}

func TestExternal_exampleTakesTheSizeApart(t *testing.T) {
	job := tinyJob(t, taskSize, engine.BigEndian)
	job.Profile = suite.Full
	samples := turn(t, example(t), job)
	if len(samples) != 2 || samples["size/apparent"][0] < 397 {
		t.Errorf("%v", samples)
	}
}

func TestExternal_exampleKnowsNoOtherSuite(t *testing.T) {
	job := tinyJob(t, taskMessages, engine.BigEndian)
	job.Suite = "items"
	_, err := example(t).Turn(t.Context(), tinyPlan, job)
	if err == nil || err.Error() != "engine example: not supported: suite items of protocol 1" {
		t.Errorf("error %v", err)
	}
}

func TestExternal_asksOnlyForWhatIsWanted(t *testing.T) {
	for row, want := range map[string]string{
		"append":          "open append close",
		"open":            "open append close opens",
		"size":            "open append close",
		"read_sequential": "open append get idle get close open get close",
		"read_iterate":    "open append iterate idle iterate close open iterate close",
		"memory":          "",
	} {
		job := tinyJob(t, taskMessages, engine.BigEndian)
		job.Rows = []string{row}
		dir := t.TempDir()
		plan := func(job suite.Job) ([]external.Script, error) {
			scripts, err := tinyPlan(job)
			var steps []string
			for _, s := range scripts {
				for _, step := range s.Steps {
					steps = append(steps, step.Do)
				}
			}
			if got := strings.Join(steps, " "); got != want {
				t.Errorf("%s: %q instead of %q", row, got, want)
			}
			return nil, err
		}
		job.Dir = dir
		if _, err := (external.Program{Name: "none"}).Turn(t.Context(), plan, job); err != nil {
			t.Error(err)
		}
	}
}

// recorder is a store that remembers which keys were read.
type recorder struct {
	engine.Store
	keys *[]string
}

func (r recorder) GetMany(keys [][]byte) (int, error) {
	for _, key := range keys {
		*r.keys = append(*r.keys, string(key))
	}
	return r.Store.GetMany(keys)
}

func TestExternal_makesTheSameChoicesAsOtherEngines(t *testing.T) {
	job := tinyJob(t, taskMessages, engine.BigEndian)
	job.Round, job.Rows = 3, []string{"read_random"}
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	open := e.Open
	e.Open = func(dir string, o engine.Options) (engine.Store, error) {
		store, err := open(dir, o)
		return recorder{store, &want}, err
	}
	if _, err := do(t, job, e); err != nil {
		t.Fatal(err)
	}
	s := &script{run: run{job: job, plan: tiny()}, sizes: make([]int, tiny().messages)}
	var got []string
	for _, state := range []string{loaded, settled, reopened} {
		for _, n := range s.choices(suite.At{Row: "read_random", State: state}, true) {
			key := make([]byte, engine.KeyBytes)
			job.Order.Put(key, uint64(n))
			got = append(got, string(key))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d keys read, and %d other ones", len(got), len(want))
	}
}
