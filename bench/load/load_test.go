package load

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// tiny is a plan that takes no time. Its script has room for less than the load writes.
func tiny(v valueSize) plan {
	return plan{
		size: v.bytes, entries: 150, batch: 40, script: 130, random: 1 << 20, calls: 80,
		reads: effort{gets: 3, parallelSamples: 2, parallelGets: 1, walks: 2}, walk: 1000,
		churn: 3, churnRounds: 1,
		settler: settle.Settler{Meter: machine.Now, Now: time.Now}, // does not wait
		closing: settled,
		capped:  effort{gets: 2, parallelSamples: 1, parallelGets: 1, walks: 1},
		cap:     tinyCap,
		capMemory: func(int64) (func() error, error) {
			return func() error { return nil }, nil
		},
	}
}

// tinyCap is the memory of the capped reads of a tiny plan.
const tinyCap = 256 << 20

func tinyJob(t testing.TB, v valueSize) suite.Job {
	t.Helper()
	return suite.Job{
		Task:     v.name,
		Round:    1,
		Dir:      t.TempDir(),
		Settings: suite.Settings{Profile: suite.Quick, Rounds: 1, Seed: 1},
	}
}

// do runs a job and returns what it recorded, by row.
func do(t testing.TB, job suite.Job, p plan, e engine.Engine) (map[string][]float64, error) {
	t.Helper()
	return doPart(t, &run{job: job, state: job.Task, plan: p, engine: e}, (*run).all)
}

// doPart does a part of a run and returns what it recorded, by row.
func doPart(t testing.TB, r *run, part func(*run) error) (map[string][]float64, error) {
	t.Helper()
	samples := make(map[string][]float64)
	r.out = func(at suite.At, values ...float64) {
		if at.State != r.state {
			t.Errorf("samples of %s in the state %q", at.Row, at.State)
		}
		if at.Row == "curve" != (at.X > 0) {
			t.Errorf("samples of %s at %v", at.Row, at.X)
		} else if at.X == 0 && samples[at.Row] != nil {
			t.Errorf("samples of %s twice", at.Row)
		}
		samples[at.Row] = append(samples[at.Row], values...)
	}
	return samples, part(r)
}

// mainRows returns the rows of a task that has the name of a size of values.
func mainRows() []suite.Row { return slices.Concat(sizeRows(), churnRows()) }

// told reports whether the system tells what the row needs.
func told(t testing.TB, row string) bool {
	t.Helper()
	u, err := machine.Now()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && u.CPU == 0 {
		t.Fatal("Linux does not tell what the process has used")
	}
	switch row {
	case "memory_peak", "memory_own", "cpu", "churn_cpu", "load_settled", "churn_settled",
		"order_load_settled":
		return u.CPU > 0
	case "written", "churn_written":
		return u.WrittenKnown
	}
	return true
}

func TestJob_measuresEveryRowOfEveryEngine(t *testing.T) {
	for _, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		for _, v := range valueSizes() {
			t.Run(e.Name+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				samples, err := do(t, tinyJob(t, v), tiny(v), e)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range mainRows() {
					if !slices.Contains(row.States, v.name) {
						t.Errorf("row %s has no state %s", row.Name, v.name)
					}
					optional := row.Name == "size_values" && e.ValueFiles == ""
					if len(samples[row.Name]) == 0 && !optional && told(t, row.Name) {
						t.Errorf("no samples of %s", row.Name)
					}
					delete(samples, row.Name)
				}
				for name := range samples {
					t.Errorf("samples of %s, which is no row", name)
				}
			})
		}
	}
}

func TestJob_measuresOnlyWhatIsWanted(t *testing.T) {
	v := valueSizes()[0]
	for _, row := range mainRows() {
		if !told(t, row.Name) {
			continue
		}
		job, e := tinyJob(t, v), honest()
		job.Rows = []string{row.Name}
		samples, err := do(t, job, tiny(v), e)
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) != 1 || len(samples[row.Name]) == 0 {
			t.Errorf("%s was wanted, and the samples are %v", row.Name, samples)
		}
	}
}

func TestJob_churnsInTheFirstRoundsOnly(t *testing.T) {
	v := valueSizes()[0]
	job := tinyJob(t, v)
	job.Round = 2
	samples, err := do(t, job, tiny(v), honest())
	if err != nil {
		t.Fatal(err)
	}
	for name := range samples {
		if strings.HasPrefix(name, "churn") {
			t.Errorf("samples of %s in the second round", name)
		}
	}
	if len(samples["load"]) == 0 {
		t.Error("no load in the second round")
	}
}

func TestJob_measuresSizesPerEntryAndPerByte(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	v := valueSizes()[1]
	p := tiny(v)
	p.entries, p.script = 2_000, 2_000
	samples, err := do(t, tinyJob(t, v), p, e)
	if err != nil {
		t.Fatal(err)
	}
	if size := samples["size"][0]; size < 1024 || size > 10*1024 {
		t.Errorf("%v bytes for an entry", size)
	}
	if size := samples["churn_size"][0]; size < 1 || size > 10 {
		t.Errorf("%v bytes for a byte", size)
	}
}

func TestJob_walksNoFurtherThanItIsTold(t *testing.T) {
	v := valueSizes()[0]
	p := tiny(v)
	p.walk = 10
	if _, err := do(t, tinyJob(t, v), p, honest()); err != nil {
		t.Error(err)
	}
}

func TestJob_countsCloseAsSettledWork(t *testing.T) {
	if !told(t, "load_settled") {
		t.Skip("only Linux tells what a process has used")
	}
	v := valueSizes()[0]
	p := tiny(v)
	samples, err := do(t, tinyJob(t, v), p, honest())
	if err != nil {
		t.Fatal(err)
	}
	closing, n := samples["close"][0], float64(p.entries)
	if closing <= 0 || samples["load_settled"][0]*n < samples["load"][0]*n+closing-1 {
		t.Errorf("samples %v", samples)
	}
	if samples["churn_settled"][0] <= samples["churn"][0] {
		t.Errorf("samples %v", samples)
	}
}

func TestJob_recordsNoEndOfWorkThatHasNone(t *testing.T) {
	v := valueSizes()[0]
	p := tiny(v)
	p.settler.Quiet = time.Second // of which the limit leaves nothing
	samples, err := do(t, tinyJob(t, v), p, honest())
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range map[string]bool{
		"load": true, "close": true, "churn": true, "load_settled": false, "churn_settled": false,
	} {
		if got := len(samples[row]) > 0; got != want {
			t.Errorf("%s: recorded is %t", row, got)
		}
	}
}

func TestJob_waitsAfterTheChurnOnlyIfToldSo(t *testing.T) {
	v := valueSizes()[0]
	p := tiny(v)
	p.closing = atOnce
	samples, err := do(t, tinyJob(t, v), p, honest())
	if err != nil {
		t.Fatal(err)
	}
	if len(samples["churn"]) == 0 || len(samples["churn_settled"]) > 0 {
		t.Errorf("samples %v", samples)
	}
	for profile, want := range map[string]bool{suite.Quick: false, suite.Full: true} {
		if newPlan(suite.Settings{Profile: profile, Rounds: 1}, v, 0).closing != closing(want) {
			t.Errorf("profile %s: waiting is not %t", profile, want)
		}
	}
}

func TestJob_recordsNothingThatTheSystemDoesNotTell(t *testing.T) {
	var rows []string
	r := &run{out: func(at suite.At, _ ...float64) { rows = append(rows, at.Row) }}
	for now, want := range map[machine.Usage]string{
		{}:                           "",
		{CPU: 1}:                     "cpu",
		{CPU: 1, WrittenKnown: true}: "cpu written",
	} {
		rows = nil
		r.used("cpu", "written", machine.Usage{}, now, 0)
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("%+v: %q", now, got)
		}
	}
}

func TestJob_checksConformance(t *testing.T) {
	job := suite.Job{Task: taskConform, Engine: "stoat", Dir: t.TempDir()}
	if err := runJob(job, nil); err != nil {
		t.Error(err)
	}
}

func TestJob_rejectsAnUnknownTask(t *testing.T) {
	job := suite.Job{Task: "2Ki", Engine: "bbolt"}
	if err := runJob(job, nil); err == nil || !strings.Contains(err.Error(), "2Ki") {
		t.Errorf("error %v", err)
	}
}

func TestJob_doesNotFillTheDisk(t *testing.T) {
	v := valueSizes()[0]
	job, p := tinyJob(t, v), tiny(v)
	if freeDisk(job.Dir) == 0 {
		if runtime.GOOS == "linux" {
			t.Fatal("Linux does not tell what is free on the disk")
		}
		t.Skip("only Linux tells what is free on the disk")
	}
	job.Profile, p.entries = suite.Large, 1<<50
	_, err := do(t, job, p, honest())
	if err == nil || !strings.Contains(err.Error(), "smaller -n") {
		t.Errorf("error %v", err)
	}
}

func TestPlan_hasTheNumbersAsked(t *testing.T) {
	sizes := valueSizes()
	for _, c := range []struct {
		profile string
		n       int
		want    [3]int // entries of each size
	}{
		{suite.Quick, 0, [3]int{20_000, 6_000, 1_000}},
		{suite.Full, 0, [3]int{10_000_000, 3_000_000, 250_000}},
		{suite.Quick, 2_000, [3]int{2_000, 600, 50}},
		{suite.Large, 100, [3]int{100, 30, 2}},
		{suite.Full, 1, [3]int{1, 1, 1}},
	} {
		for i, v := range sizes {
			s := suite.Settings{Profile: c.profile, N: c.n, Rounds: 5}
			p := newPlan(s, v, 1<<30)
			if p.entries != c.want[i] {
				t.Errorf("%s, -n %d: %d entries of %s", c.profile, c.n, p.entries, v.name)
			}
			if p.batch < 1 || p.batch*v.bytes > batchBytes || p.batch > studyBatch {
				t.Errorf("%s, -n %d: batches of %d of %s", c.profile, c.n, p.batch, v.name)
			}
		}
	}
}

func TestPlan_largeIsTwiceTheMemory(t *testing.T) {
	const memory = 64 << 30
	for _, v := range valueSizes() {
		p := newPlan(suite.Settings{Profile: suite.Large, Rounds: 1}, v, memory)
		present := float64(p.presentBytes())
		if present < 1.99*memory || present > 2.01*memory {
			t.Errorf("%s: %.0f bytes present", v.name, present)
		}
	}
}
