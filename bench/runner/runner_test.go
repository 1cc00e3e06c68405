package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// TestMain lets the test binary be the child, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildArgument {
		if err := Child(os.Stdin, os.Stdout, findSuite); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// findSuite returns a suite whose name says what goes wrong with bbolt.
func findSuite(name string) (suite.Suite, error) {
	return suite.Suite{
		Name: name,
		Rows: []suite.Row{{Name: "row", Unit: suite.Nanoseconds}},
		Tasks: func(s suite.Settings) []suite.Task {
			return []suite.Task{{Name: "every", Rounds: s.Rounds}, {Name: "once", Rounds: 1}}
		},
		Run: func(job suite.Job, e engine.Engine, record suite.Record) error {
			record("row", job.Task, float64(job.Round))
			if e.Name != "bbolt" {
				return nil
			}
			switch name {
			case "error":
				return errors.New("out of luck")
			case "exit":
				os.Exit(3)
			case "hang":
				select {}
			}
			return nil
		},
	}, nil
}

func newRunner(t testing.TB, name string) *Runner {
	t.Helper()
	s, err := findSuite(name)
	if err != nil {
		t.Fatal(err)
	}
	engines, err := engine.Select("badger,bbolt")
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{
		Suite: s, Engines: engines, Settings: suite.Settings{Rounds: 2}, Dir: t.TempDir(),
		Timeout: time.Minute, Progress: io.Discard,
	}
}

func TestRun_letsEnginesTakeTurns(t *testing.T) {
	r := newRunner(t, "fine")
	result, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var turns []string
	for _, m := range result.Measurements {
		turns = append(turns, fmt.Sprint(m.Engine, " ", m.State, " ", m.Values[0]))
	}
	want := "badger every 1, bbolt every 1, badger once 1, bbolt once 1, badger every 2, bbolt every 2"
	if got := strings.Join(turns, ", "); got != want {
		t.Errorf("turns %s\ninstead of %s", got, want)
	}
	left, err := os.ReadDir(r.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the children's folders are left: %v, %v", left, err)
	}
}

func TestRun_goesOnAfterAChildFails(t *testing.T) {
	for name, want := range map[string]string{
		"error": "out of luck", "exit": "exit status 3", "hang": "no end after",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, name)
			if name == "hang" {
				r.Timeout = 2 * time.Second
				r.Settings.Rounds = 1
			}
			result, err := r.Run(t.Context())
			if err != nil {
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
			if f.Engine != "bbolt" || f.Task != "every" || !strings.Contains(f.Error, want) {
				t.Errorf("%+v, which does not say %q", f, want)
			}
		})
	}
}

func TestRun_returnsWhatThereIsWhenInterrupted(t *testing.T) {
	r := newRunner(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	r.Progress = onText{"bbolt", cancel}
	result, err := r.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(result.Measurements) == 0 || len(result.Failures) != 0 {
		t.Errorf("%v, %v", result.Measurements, result.Failures)
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
