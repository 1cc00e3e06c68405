package queue

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// do drains small queues and returns what it recorded.
func do(t testing.TB, e engine.Engine, rows ...string) (map[suite.At][]float64, error) {
	t.Helper()
	samples := make(map[suite.At][]float64)
	r := &run{plan: plan{entries: 40, pops: 5}, engine: e}
	r.job = suite.Job{Dir: t.TempDir(), Settings: suite.Settings{Rows: rows}}
	r.out = func(at suite.At, values ...float64) { samples[at] = values }
	return samples, r.all()
}

func TestDrain_measuresEveryRowOfEveryEngine(t *testing.T) {
	for _, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			samples, err := do(t, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range Suite().Rows {
				for _, state := range row.States {
					at := suite.At{Row: row.Name, State: state}
					if len(samples[at]) != 5 {
						t.Errorf("%d samples of %v", len(samples[at]), at)
					}
					delete(samples, at)
				}
			}
			for at := range samples {
				t.Errorf("samples of %v, which is no row", at)
			}
		})
	}
}

func TestDrain_measuresOnlyWhatIsWanted(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := do(t, e, rowReopened)
	if err != nil {
		t.Fatal(err)
	}
	for at := range samples {
		if at.Row != rowReopened {
			t.Errorf("samples of %v", at)
		}
	}
	if len(samples) != len(lengths()) {
		t.Errorf("%d places", len(samples))
	}
}

func TestRunJob_drainsTheShortestOfQueues(t *testing.T) {
	for _, task := range Suite().Tasks(suite.Settings{Rounds: 1}) {
		job := suite.Job{Task: task.Name, Engine: "bbolt", Dir: t.TempDir()}
		job.Profile, job.N = suite.Quick, 3
		if err := runJob(job, func(suite.At, ...float64) {}); err != nil {
			t.Errorf("%s: %v", task.Name, err)
		}
	}
	if err := runJob(suite.Job{Task: "more", Engine: "bbolt"}, nil); err == nil {
		t.Error("a task that there is not is no error")
	}
}

// stuck is a store that deletes nothing.
type stuck struct{ engine.Store }

func (s stuck) Write(pairs []engine.Pair) error {
	if pairs[0].Value == nil {
		return nil
	}
	return s.Store.Write(pairs)
}

func TestDrain_noticesAnEntryThatComesTwice(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	honest := e.Open
	e.Open = func(dir string, o engine.Options) (engine.Store, error) {
		s, err := honest(dir, o)
		return stuck{s}, err
	}
	if _, err := do(t, e); err == nil || !strings.Contains(err.Error(), "instead of") {
		t.Errorf("error %v", err)
	}
}
