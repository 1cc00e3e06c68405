package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// TestMain lets the test binary be the child, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == other {
		fmt.Println(os.Args[2])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == ChildArgument {
		if err := Child(os.Stdin, os.Stdout, findSuite); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// findSuite returns a suite whose name says what goes wrong with the engine "bad".
func findSuite(name string) (suite.Suite, error) {
	return suite.Suite{
		Name: name,
		Rows: []suite.Row{{Name: "row", Unit: suite.Nanoseconds}},
		Tasks: func(s suite.Settings) []suite.Task {
			once := suite.Task{Name: "once", Rounds: 1, Gate: name == "gate"}
			if strings.HasPrefix(name, "then") {
				once.Then = "after"
			}
			once.Together = name == "together"
			return []suite.Task{{Name: "every", Rounds: s.Rounds}, once}
		},
		Engines: func() []engine.About { return []engine.About{{Name: "good"}, {Name: "bad"}} },
		Run: func(job suite.Job, record suite.Record) error {
			record(suite.At{Row: "row", State: job.Task}, float64(job.Round))
			if name == "then" && job.Task != "every" {
				return followUp(job)
			}
			if job.Engine != "bad" {
				return nil
			}
			switch name {
			case "error", "gate", "then not":
				return errors.New("out of luck")
			case "exit":
				os.Exit(3)
			case "hang":
				<-time.After(time.Hour)
			}
			return nil
		},
		RunTogether: func(job suite.Job, record func(engine string) suite.Record) error {
			for _, name := range job.Engines {
				record(name)(suite.At{Row: "row", State: job.Task + " together"}, float64(job.Round))
			}
			return errors.New("out of luck together")
		},
	}, nil
}

// followUp writes a file, which the task "after" must find, and for the engine "bad" fails then.
func followUp(job suite.Job) error {
	path := filepath.Join(job.Dir, "file")
	if job.Task != "after" {
		return os.WriteFile(path, nil, 0o600)
	}
	if _, err := os.Stat(path); err != nil || job.Engine != "bad" {
		return err
	}
	return errors.New("out of luck at last")
}

func newRunner(t testing.TB, name string) *Runner {
	t.Helper()
	s, err := findSuite(name)
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{
		Suite: s, Engines: s.Engines(), Settings: suite.Settings{Rounds: 2}, Dir: t.TempDir(),
		Timeout: time.Minute, Progress: io.Discard,
	}
}

func TestRun_letsEnginesTakeTurns(t *testing.T) {
	r := newRunner(t, "fine")
	result := new(report.Result)
	var added []int
	r.Added = func() { added = append(added, len(result.Measurements)) }
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	var turns []string
	for _, m := range result.Measurements {
		turns = append(turns, fmt.Sprint(m.Engine, " ", m.State, " ", m.Values[0]))
	}
	want := "good every 1, bad every 1, good once 1, bad once 1, good every 2, bad every 2"
	if got := strings.Join(turns, ", "); got != want {
		t.Errorf("turns %s\ninstead of %s", got, want)
	}
	if grown := []int{1, 2, 3, 4, 5, 6}; !slices.Equal(added, grown) {
		t.Errorf("measurements after the turns: %v", added)
	}
	left, err := os.ReadDir(r.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the children's folders are left: %v, %v", left, err)
	}
}

func TestRun_measuresEnginesTogether(t *testing.T) {
	r := newRunner(t, "together")
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	var turns []string
	for _, m := range result.Measurements {
		turns = append(turns, fmt.Sprint(m.Engine, " ", m.State, " ", m.Values[0]))
	}
	want := "good every 1, bad every 1, good once together 1, bad once together 1, " +
		"good every 2, bad every 2"
	if got := strings.Join(turns, ", "); got != want {
		t.Errorf("turns %s\ninstead of %s", got, want)
	}
	if len(result.Failures) != 1 || result.Failures[0].Engine != suite.AllEngines {
		t.Errorf("failures %+v", result.Failures)
	}
}

func TestRun_letsAnotherChildGoOnInTheSameFolder(t *testing.T) {
	r := newRunner(t, "then")
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	var tasks []string
	for _, m := range result.Measurements {
		if m.Round == 1 {
			tasks = append(tasks, m.Engine+" "+m.State)
		}
	}
	want := "good every, bad every, good once, good after, bad once, bad after"
	if got := strings.Join(tasks, ", "); got != want {
		t.Errorf("tasks %s\ninstead of %s", got, want)
	}
	if len(result.Failures) != 1 || !strings.Contains(result.Failures[0].Error, "at last") {
		t.Errorf("failures %+v", result.Failures)
	}
}

func TestRun_letsNobodyGoOnAfterAChildFails(t *testing.T) {
	r := newRunner(t, "then not")
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Measurements {
		if m.Engine == "bad" && m.State == "after" {
			t.Errorf("measurement %+v", m)
		}
	}
}

func TestRun_goesOnAfterAChildFails(t *testing.T) {
	for name, want := range map[string]string{
		"error": "out of luck", "exit": "exit status 3", "hang": "did not finish within",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, name)
			if name == "hang" {
				r.Timeout = 2 * time.Second
				r.Settings.Rounds = 1
			}
			result := new(report.Result)
			if err := r.Run(t.Context(), result); err != nil {
				t.Fatal(err)
			}
			turns := 2 * (r.Settings.Rounds + 1)
			if len(result.Measurements) != turns {
				t.Errorf("%d measurements of %d turns", len(result.Measurements), turns)
			}
			if len(result.Failures) != turns/2 {
				t.Fatalf("%d failures of %d turns", len(result.Failures), turns)
			}
			f := result.Failures[0]
			if f.Engine != "bad" || f.Task != "every" || !strings.Contains(f.Error, want) {
				t.Errorf("%+v, which does not say %q", f, want)
			}
		})
	}
}

func TestRun_goesOnIfAFolderCannotBeRemoved(t *testing.T) {
	r := newRunner(t, "fine")
	r.erase = func(dir string) error { return errors.New("busy") }
	var notes []string
	r.Note = func(text string) { notes = append(notes, text) }
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	if len(result.Measurements) != 6 || len(result.Failures) > 0 || len(notes) != 6 ||
		!strings.Contains(notes[0], r.Dir) {
		t.Errorf("%v, %v, notes %q", result.Measurements, result.Failures, notes)
	}
}

func TestRun_dropsAnEngineThatFailsAGate(t *testing.T) {
	r := newRunner(t, "gate")
	r.Settings.Rounds = 3
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	turns := make(map[string]int)
	for _, m := range result.Measurements {
		turns[m.Engine]++
	}
	if turns["good"] != 4 || turns["bad"] != 2 {
		t.Errorf("turns %v; the bad one should have one before the gate, and the gate", turns)
	}
}

func TestRun_returnsWhatThereIsWhenInterrupted(t *testing.T) {
	r := newRunner(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	r.Progress = onText{"bad", cancel}
	result := new(report.Result)
	err := r.Run(ctx, result)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(result.Measurements) == 0 || len(result.Failures) != 0 {
		t.Errorf("%v, %v", result.Measurements, result.Failures)
	}
}

// other is the argument that makes the test binary an engine that is a program of its own.
const other = "other"

// newMixed returns a runner whose engine "bad" is a program that answers with a text.
func newMixed(t testing.TB, answer string) (r *Runner, notes *[]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, notes = newRunner(t, "gate"), new([]string)
	r.Settings.Rounds = 3
	r.External = map[string]external.Program{
		"bad": {Name: "bad", Command: []string{self, other, answer}},
	}
	r.Plan = func(suite.Job) ([]external.Script, error) {
		step := external.Step{Do: external.Opens, Count: 1, Batch: 1, At: suite.At{Row: "row"}}
		return []external.Script{{Steps: []external.Step{step}}}, nil
	}
	r.Note = func(text string) { *notes = append(*notes, text) }
	return r, notes
}

func TestRun_letsAProgramTakeTurns(t *testing.T) {
	r, notes := newMixed(t, `{"step":0,"samples":[5]}`)
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, m := range result.Measurements {
		if m.Engine == "bad" {
			values = append(values, m.Values...)
		}
	}
	if !slices.Equal(values, []float64{5, 5, 5, 5}) || len(result.Failures) > 0 || *notes != nil {
		t.Errorf("samples %v, %v, notes %q", values, result.Failures, *notes)
	}
}

func TestRun_goesOnAfterAProgramAnswersNonsense(t *testing.T) {
	r, _ := newMixed(t, "hello")
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	want := `engine bad: line 1 of its answer is not JSON: "hello"`
	if len(result.Failures) != 2 || result.Failures[0].Error != want {
		t.Errorf("%+v; it should fail before the gate, and at the gate", result.Failures)
	}
	if len(result.Measurements) != 4 {
		t.Errorf("%d measurements of the good one", len(result.Measurements))
	}
}

func TestRun_notesWhatProgramsCannotDo(t *testing.T) {
	r, notes := newMixed(t, `{"unsupported":"too new"}`)
	want := []string{
		"bad is not measured in suite gate, every: too new",
		"bad is not measured in suite gate, once: too new",
	}
	result := new(report.Result)
	if err := r.Run(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	if len(result.Failures) > 0 || !slices.Equal(*notes, want) {
		t.Errorf("%+v, notes %q instead of %q", result.Failures, *notes, want)
	}
}

// onText is a writer that does something once it is given a text.
type onText struct {
	text string
	do   func()
}

func (o onText) Write(b []byte) (int, error) {
	if strings.Contains(string(b), o.text) {
		o.do()
	}
	return len(b), nil
}

func TestDecode_keepsWhatCameBeforeABrokenLine(t *testing.T) {
	got, err := decode(strings.NewReader("{\"Row\":\"a\"}\n{\"Row\":\"b\",\"Val"))
	if err != nil || len(got) != 1 || got[0].Row != "a" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = decode(strings.NewReader("{\"Row\":\"a\"}\nhello\n")); err == nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
