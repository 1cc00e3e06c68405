package ssb

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// tiny is a plan that takes no time.
func tiny() plan {
	return plan{
		messages: 250, sizeMessages: 120, batch: 100, sizeBatch: 50, generated: 2, reads: 3,
		readTime: time.Minute, evenReads: true,
		calls: 10, puts: 3, parallelSamples: 2, parallelPuts: 1, parallelTime: time.Minute, opens: 2,
		loads: 2, loadTime: time.Minute, settler: settle.New(0, 0),
	}
}

func tinyJob(t testing.TB, task string, order engine.Order) suite.Job {
	t.Helper()
	return suite.Job{
		Task: task,
		Dir:  t.TempDir(),
		Settings: suite.Settings{
			Profile: suite.Quick, Rounds: 1, N: 250, Seed: 1, Order: order, Data: dataMessages,
		},
	}
}

// do runs a job and returns what it recorded, by row and state.
func do(t testing.TB, job suite.Job, e engine.Engine) (map[string][]float64, error) {
	t.Helper()
	g, err := newGenerator(job.Data, job.Seed)
	if err != nil {
		t.Fatal(err)
	}
	samples := make(map[string][]float64)
	r := &run{job: job, plan: tiny(), engine: e, generator: g}
	r.out = func(at suite.At, values ...float64) {
		name := strings.TrimSuffix(at.Row+"/"+at.State, "/")
		samples[name] = append(samples[name], values...)
	}
	if job.Task == taskTurns {
		return samples, takeTurns(job, tiny(), g, func(engine string) suite.Record {
			return func(at suite.At, values ...float64) {
				name := engine + "/" + at.Row + "/" + at.State
				samples[name] = append(samples[name], values...)
			}
		})
	}
	if job.Task == taskSize {
		return samples, r.size()
	}
	return samples, r.messages()
}

// untold reports whether the system does not tell what the row is about.
func untold(t testing.TB, row string) bool {
	t.Helper()
	usage, err := machine.Now()
	if err != nil {
		t.Fatal(err)
	}
	switch row {
	case "cpu", "memory", "memory_load":
		return usage.CPU == 0
	case "written":
		return !usage.WrittenKnown
	}
	return false
}

// tellsMemory reports whether an engine tells what its memory is used for.
func tellsMemory(e engine.Engine) bool {
	return strings.HasPrefix(e.Name, "stoat") || strings.HasPrefix(e.Name, "pebble")
}

func TestMessagesTask_measuresEveryRowOfEveryEngine(t *testing.T) {
	for _, e := range engine.All() {
		if e.Missing != "" {
			continue
		}
		for _, order := range []engine.Order{engine.BigEndian, engine.LittleEndian} {
			t.Run(e.Name+"/"+string(order), func(t *testing.T) {
				t.Parallel()
				samples, err := do(t, tinyJob(t, taskMessages, order), e)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range rows() {
					states := row.States
					if len(states) == 0 {
						states = []string{""}
					}
					for _, state := range states {
						if state == capped || strings.HasSuffix(state, "_turns") || untold(t, row.Name) {
							continue
						}
						name := strings.TrimSuffix(row.Name+"/"+state, "/")
						if !tellsMemory(e) && (state == "memtables" || state == "cache") {
							continue
						}
						if len(samples[name]) == 0 {
							t.Errorf("no samples of %s", name)
						}
						delete(samples, name)
					}
				}
				for name := range samples {
					t.Errorf("samples of %s, which is no row", name)
				}
			})
		}
	}
}

func TestMessagesTask_readsWithLittleMemoryInTheLargeProfile(t *testing.T) {
	lift, err := machine.CapMemory(1 << 30)
	if errors.Is(err, machine.ErrNoCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	job := tinyJob(t, taskMessages, engine.BigEndian)
	job.Profile, job.Rows = suite.Large, []string{"read_random"}
	samples, err := do(t, job, e)
	if err != nil || len(samples["read_random/capped"]) == 0 {
		t.Errorf("%v, %v", samples, err)
	}
}

func TestMessagesTask_measuresOnlyWhatIsWanted(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows() {
		job := tinyJob(t, taskMessages, engine.BigEndian)
		job.Rows = []string{row.Name}
		samples, err := do(t, job, e)
		if err != nil {
			t.Fatal(err)
		}
		for name := range samples {
			if got, _, _ := strings.Cut(name, "/"); got != row.Name {
				t.Errorf("samples of %s, but only %s was wanted", name, row.Name)
			}
		}
		if len(samples) == 0 && !untold(t, row.Name) {
			t.Errorf("no samples of %s", row.Name)
		}
	}
}

func TestTurnsTask_measuresTheReadRowsOfAllEngines(t *testing.T) {
	for _, order := range []engine.Order{engine.BigEndian, engine.LittleEndian} {
		job := tinyJob(t, taskTurns, order)
		for _, e := range engine.All() {
			if e.Missing == "" {
				job.Engines = append(job.Engines, e.Name)
			}
		}
		samples, err := do(t, job, engine.Engine{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range job.Engines {
			for _, row := range readNames() {
				for _, state := range []string{settledTurns, reopenedTurns} {
					if n := len(samples[name+"/"+row+"/"+state]); n != tiny().reads {
						t.Errorf("%d samples of %s, %s of %s", n, row, state, name)
					}
				}
			}
		}
		if want := 2 * len(readNames()) * len(job.Engines); len(samples) != want {
			t.Errorf("samples of %d rows instead of %d", len(samples), want)
		}
	}
}

func TestMessagesTask_capsTheMemoryOfAllRows(t *testing.T) {
	const limit = 256 << 20
	if err := machine.CheckCap(); err != nil {
		t.Skip(err)
	}
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	job := tinyJob(t, taskMessages, engine.BigEndian)
	job.Memory = limit
	honest := e.Open
	e.Open = func(dir string, o engine.Options) (engine.Store, error) {
		if _, err := machine.CapMemory(limit); err == nil {
			t.Error("the process has no limit when a database is opened")
		}
		return honest(dir, o)
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	samples, err := do(t, job, e)
	if err != nil || len(samples["append"]) == 0 {
		t.Errorf("%v, %v", samples, err)
	}
	lift, err := machine.CapMemory(limit)
	if err != nil {
		t.Fatalf("the limit was not lifted: %v", err)
	}
	if err := lift(); err != nil {
		t.Error(err)
	}
}

func TestSizeTask_measuresBytesPerMessage(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := do(t, tinyJob(t, taskSize, engine.BigEndian), e)
	if err != nil {
		t.Fatal(err)
	}
	apparent := samples["size/apparent"]
	if len(apparent) != 1 || apparent[0] < 397 || apparent[0] > 10*397 {
		t.Errorf("%v bytes per message", apparent)
	}
}

func TestTasks_measureTheSizeOnce(t *testing.T) {
	for _, c := range []struct {
		profile string
		rows    []string
		want    string
	}{
		{"quick", nil, "conformance messages"},
		{"full", nil, "conformance messages size"},
		{"turns", nil, "conformance messages turns"},
		{"turns", []string{"append"}, "conformance messages"},
		{"full", []string{"append"}, "conformance messages"},
		{"full", []string{"size"}, "conformance size"},
		{"full", []string{"append", "size"}, "conformance messages size"},
	} {
		var names []string
		s := suite.Settings{Profile: c.profile, Rounds: 5, Rows: c.rows, Turns: c.profile == "turns"}
		for _, task := range tasks(s) {
			names = append(names, task.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s %v: tasks %s instead of %s", c.profile, c.rows, got, c.want)
		}
	}
}

// liar is a store that answers with something that was not written.
type liar struct {
	engine.Store
	lie string
}

func (l liar) GetMany(keys [][]byte) (int, error) {
	size, err := l.Store.GetMany(keys)
	if l.lie == "GetMany" {
		size++
	}
	return size, err
}

func (l liar) Get(key []byte) (int, error) {
	size, err := l.Store.Get(key)
	if l.lie == "Get" {
		size++
	}
	return size, err
}

func (l liar) Iterate(start []byte, n int, look engine.Look) (engine.Walk, error) {
	w, err := l.Store.Iterate(start, n, look)
	if l.lie == "Iterate" {
		w.Entries--
	}
	return w, err
}

func TestMessagesTask_noticesWrongAnswers(t *testing.T) {
	e, err := engine.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	honest := e.Open
	for _, lie := range []string{"GetMany", "Get", "Iterate"} {
		e.Open = func(dir string, o engine.Options) (engine.Store, error) {
			s, err := honest(dir, o)
			return liar{s, lie}, err
		}
		_, err := do(t, tinyJob(t, taskMessages, engine.BigEndian), e)
		if err == nil || !strings.Contains(err.Error(), "instead of") {
			t.Errorf("%s lied, and the error is %v", lie, err)
		}
	}
}
