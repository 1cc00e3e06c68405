package docs

import (
	"slices"
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
		bytes: 10_000, calls: 2, reads: 3, readTime: time.Minute, copies: 2, scans: 2, sweep: 1 << 10,
		settler: settle.Settler{Meter: machine.Now, Now: time.Now}, // does not wait
	}
}

// do runs a job of the kind and returns what it recorded, by row and state.
func do(
	t testing.TB, k kind, e engine.Engine, order engine.Order, rows ...string,
) (map[suite.At][]float64, error) {
	t.Helper()
	samples := make(map[suite.At][]float64)
	r := &run{plan: tiny(), engine: e, kind: k}
	r.job = suite.Job{Dir: t.TempDir(), Settings: suite.Settings{
		Profile: suite.Quick, Rounds: 1, Seed: 1, Order: order, Rows: rows,
	}}
	r.out = func(at suite.At, values ...float64) {
		samples[at] = append(samples[at], values...)
	}
	return samples, r.all()
}

func find(t testing.TB, name string) engine.Engine {
	t.Helper()
	e, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTask_measuresEveryRowOfEveryEngine(t *testing.T) {
	extra := make(map[string]bool)
	for _, e := range engines() {
		extra[e.Name] = e.Extra
	}
	for i, e := range engine.All() {
		if e.Missing != "" || testing.Short() && extra[e.Name] {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			k := kinds()[i%len(kinds())]
			order := []engine.Order{engine.BigEndian, engine.LittleEndian}[i%2]
			samples, err := do(t, k, e, order)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows() {
				for _, s := range sizes() {
					at := suite.At{Row: row.Name, State: stateOf(k, s)}
					if len(samples[at]) == 0 {
						t.Errorf("no samples of %v", at)
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

func TestTask_measuresOnlyWhatIsWanted(t *testing.T) {
	for _, row := range rows() {
		samples, err := do(t, kinds()[0], find(t, "bbolt"), engine.BigEndian, row.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) != len(sizes()) {
			t.Errorf("%s: samples at %d places", row.Name, len(samples))
		}
		for at := range samples {
			if at.Row != row.Name {
				t.Errorf("samples of %v, but only %s was wanted", at, row.Name)
			}
		}
	}
}

func TestTasks_areThoseOfTheData(t *testing.T) {
	for data, want := range map[string]string{
		"": "conformance json source log random", "all": "conformance json source log random",
		"log": "conformance log",
	} {
		var names []string
		for _, task := range tasks(suite.Settings{Data: data, Rounds: 1}) {
			names = append(names, task.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("data %q: tasks %s instead of %s", data, got, want)
		}
	}
}

func TestRunJob_knowsAllTasks(t *testing.T) {
	for _, task := range tasks(suite.Settings{Rounds: 1}) {
		job := suite.Job{Task: task.Name, Engine: "bbolt", Dir: t.TempDir(), Settings: suite.Settings{
			Profile: suite.Quick, N: 1, Order: engine.BigEndian, Rows: []string{"load"},
		}}
		if err := runJob(job, func(suite.At, ...float64) {}); err != nil {
			t.Errorf("%s: %v", task.Name, err)
		}
	}
	if err := runJob(suite.Job{Task: "poems", Engine: "bbolt"}, nil); err == nil {
		t.Error("a task that there is not is no error")
	}
}

func TestRows_boundEnginesThatAreMeasured(t *testing.T) {
	var measured []string
	for _, e := range engines() {
		if !e.Extra {
			measured = append(measured, e.Name)
		}
	}
	var bounded int
	for _, row := range rows() {
		if row.Bound == nil {
			continue
		}
		bounded++
		for _, name := range append(slices.Clone(row.Bound.Of), row.Bound.Engine) {
			if !slices.Contains(measured, name) {
				t.Errorf("the bound of %s names %s, which is not measured", row.Name, name)
			}
		}
	}
	if bounded == 0 || len(measured) != 7 {
		t.Errorf("%d rows with a bound, engines %v", bounded, measured)
	}
}

// liar is a store that answers with something that was not written.
type liar struct {
	engine.Store
	lie string
}

func (l liar) Get(key []byte) (int, error) {
	size, err := l.Store.Get(key)
	if l.lie == "Get" {
		size++
	}
	return size, err
}

func (l liar) Copy(key, buf []byte) ([]byte, bool, error) {
	value, found, err := l.Store.Copy(key, buf)
	if l.lie == "Copy" {
		value[0]++
	}
	return value, found && l.lie != "absent", err
}

func (l liar) Iterate(start []byte, n int, look engine.Look) (engine.Walk, error) {
	w, err := l.Store.Iterate(start, n, look)
	if l.lie == "Iterate" {
		w.Sum++
	}
	return w, err
}

func (l liar) CopyAll(n int, part engine.Part) (engine.Walk, error) {
	w, err := l.Store.CopyAll(n, part)
	if l.lie == "CopyAll" {
		w.Bytes--
	}
	return w, err
}

func TestTask_noticesWrongAnswers(t *testing.T) {
	e := find(t, "bbolt")
	honest := e.Open
	for _, lie := range []string{"Get", "Copy", "absent", "Iterate", "CopyAll"} {
		e.Open = func(dir string, o engine.Options) (engine.Store, error) {
			s, err := honest(dir, o)
			return liar{s, lie}, err
		}
		_, err := do(t, kinds()[0], e, engine.BigEndian)
		if err == nil || !strings.Contains(err.Error(), "instead of") {
			t.Errorf("%s lied, and the error is %v", lie, err)
		}
	}
}
