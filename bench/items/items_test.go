package items

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// tiny is a plan that takes no time.
func tiny() plan {
	return plan{
		large: 50, batch: 20, instances: 2, samples: 3, calls: 2, opens: 2, readAlls: 2,
		settler: settle.New(0, 0),
	}
}

func tinyJob(t testing.TB) suite.Job {
	t.Helper()
	return suite.Job{
		Dir:      t.TempDir(),
		Round:    1,
		Settings: suite.Settings{Profile: suite.Quick, Rounds: 1, Seed: 1},
	}
}

// do runs all tasks of a job and returns what they recorded, by row and state.
func do(job suite.Job, i implementation) (map[string][]float64, error) {
	samples := make(map[string][]float64)
	r := &run{job: job, plan: tiny(), open: i.open}
	r.out = func(at suite.At, values ...float64) {
		name := strings.TrimSuffix(at.Row+"/"+at.State, "/")
		samples[name] = append(samples[name], values...)
	}
	var errs []error
	for _, task := range tasks(job.Settings) {
		if task.Name == taskSmall {
			errs = append(errs, r.small())
		} else {
			errs = append(errs, r.large())
		}
	}
	return samples, errors.Join(errs...)
}

// wanted returns the names of the samples of the rows, with how many there must be of each.
func wanted(rows []suite.Row) map[string]int {
	p := tiny()
	special := map[string]int{
		"create_instance": p.instances, "open_empty": p.instances, "open_loaded": p.opens,
		"read_all": p.readAlls, "size/apparent": 1, "size/allocated": 1,
	}
	counts := make(map[string]int)
	for _, row := range rows {
		states := row.States
		if len(states) == 0 {
			states = []string{""}
		}
		for _, state := range states {
			name := strings.TrimSuffix(row.Name+"/"+state, "/")
			counts[name] = p.samples
			if n, ok := special[name]; ok {
				counts[name] = n
			}
		}
	}
	return counts
}

func checkSamples(t testing.TB, samples map[string][]float64, rows []suite.Row) {
	t.Helper()
	want := wanted(rows)
	for name, values := range samples {
		if len(values) != want[name] || slices.Min(values) <= 0 {
			t.Errorf("%s has %v instead of %d samples above 0", name, values, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("no samples of %s", name)
	}
}

func TestTasks_measureEveryRowOfEveryEngine(t *testing.T) {
	for _, i := range implementations() {
		for _, sync := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/sync=%v", i.Name, sync), func(t *testing.T) {
				t.Parallel()
				job := tinyJob(t)
				job.Sync = sync
				samples, err := do(job, i)
				if err != nil {
					t.Fatal(err)
				}
				checkSamples(t, samples, Suite().Rows)
			})
		}
	}
}

func TestTasks_measureOnlyWhatIsWanted(t *testing.T) {
	i, err := find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Suite().Rows {
		job := tinyJob(t)
		job.Rows = []string{row.Name}
		samples, err := do(job, i)
		if err != nil {
			t.Fatal(err)
		}
		checkSamples(t, samples, []suite.Row{row})
	}
}

func TestTasks_areThoseWithWantedRows(t *testing.T) {
	for _, c := range []struct {
		rows []string
		want string
	}{
		{nil, "small large"},
		{[]string{"read", "size"}, "small large"},
		{[]string{"read"}, "small"},
		{[]string{"size"}, "large"},
		{[]string{"other"}, ""},
	} {
		var got []string
		for _, task := range tasks(suite.Settings{Rounds: 5, Rows: c.rows}) {
			got = append(got, task.Name)
			if task.Rounds != 5 {
				t.Errorf("task %s takes part in %d rounds", task.Name, task.Rounds)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("rows %v: tasks %v instead of %s", c.rows, got, c.want)
		}
	}
}

func TestPlan_takesTheLargeSizeFromTheSettings(t *testing.T) {
	for _, c := range []struct {
		profile string
		n       int
		want    int
	}{
		{suite.Quick, 0, 5_000}, {suite.Full, 0, 100_000}, {suite.Quick, 7, 7}, {suite.Full, 7, 7},
	} {
		if p := newPlan(suite.Settings{Profile: c.profile, N: c.n}); p.large != c.want {
			t.Errorf("%s with -n %d has %d items", c.profile, c.n, p.large)
		}
	}
}

func TestLargeRows_sayHowManyItemsThereWere(t *testing.T) {
	i, err := find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	r := &run{job: tinyJob(t), plan: tiny(), open: i.open}
	r.out = func(at suite.At, _ ...float64) {
		if row, ok := Suite().Row(at.Row); !ok || row.Axis == "" || at.X != 50 {
			t.Errorf("samples at %+v", at)
		}
	}
	if err := r.large(); err != nil {
		t.Fatal(err)
	}
}

func TestSuite_runsItsTasks(t *testing.T) {
	s := Suite()
	job := tinyJob(t)
	job.N, job.Rows, job.Engine, job.Task = 10, []string{"size"}, "stoat", taskLarge
	var got []suite.At
	record := func(at suite.At, _ ...float64) { got = append(got, at) }
	if err := s.Run(job, record); err != nil || len(got) != 2 || got[0].X != 10 {
		t.Errorf("recorded %v, %v", got, err)
	}
	job.Task = "none"
	if err := s.Run(job, record); err == nil {
		t.Error("no error of an unknown task")
	}
	job.Engine = "none"
	if err := s.Run(job, record); err == nil {
		t.Error("no error of an unknown engine")
	}
}
