package remote

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/bench/suite"
)

// TestMain makes the test binary be a program with a database, or a server.
func TestMain(m *testing.M) {
	run := func() error { os.Exit(m.Run()); return nil }
	switch {
	case len(os.Args) == 3 && os.Args[1] == ProgramArgument:
		run = func() error { return Program(os.Args[2], os.Stdin, os.Stdout) }
	case len(os.Args) == 2 && os.Args[1] == ServerArgument:
		run = func() error { return Server(os.Stdin, os.Stdout) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tiny is a plan that takes no time.
func tiny() plan {
	return plan{
		delays: []delay{{name: "20ms"}}, writers: []int{1, 3}, milliseconds: 50, pairs: 1, lags: 50,
		idle: 1, quiet: 100, records: 2_000, gets: 5, link: 1e9,
	}
}

// measured does all tasks of a system and returns how many samples they recorded.
func measured(t *testing.T, s system, settings suite.Settings) map[suite.At]int {
	t.Helper()
	samples := map[suite.At]int{}
	for _, task := range tasks(settings) {
		job := suite.Job{Settings: settings, Task: task.Name, Dir: t.TempDir()}
		err := do(s, tiny(), job, func(at suite.At, values ...float64) {
			samples[at] += len(values)
			if slices.Min(values) <= 0 && at.Row != rowIdle {
				t.Errorf("%v: a sample of %v", at, slices.Min(values))
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", task.Name, err)
		}
	}
	return samples
}

// cannot are the rows that a system has no samples of.
var cannot = map[string][]string{
	"slatedb": {rowAsync, rowAsyncCPU, rowRestore, rowMemory, rowStandby, rowStandTurns},
	"litestream": {rowCommit, rowCommit99, rowCommits, rowGroup, rowRequests, rowMillion, rowOpen,
		rowOpenTurns, rowOpenAsks, rowOpenBytes, rowFirst, rowFirstAsks, rowGet, rowGet99, rowGetAsks,
		rowScan, rowScanAsks, rowTakeover, rowTakeTurns, rowStandby, rowStandTurns},
}

func TestTasks_measureEveryRowOfEverySystem(t *testing.T) {
	for _, s := range systems() {
		t.Run(s.Name, func(t *testing.T) {
			if s.Missing != "" {
				t.Skip(s.Missing)
			}
			if s.Name != "stoat" && testing.Short() {
				t.Skip("other systems take a quarter of a minute")
			}
			samples := measured(t, s, suite.Settings{Rounds: 1, Sync: true})
			for _, row := range Suite().Rows {
				at := suite.At{Row: row.Name}
				if row.States != nil {
					at.State = tiny().delays[0].name
				}
				if row.Axis != "" {
					at.X = 3
				}
				if can := !slices.Contains(cannot[s.Name], row.Name); can != (samples[at] > 0) {
					t.Errorf("%d samples of %v", samples[at], at)
				}
			}
		})
	}
}

func TestTasks_measureOnlyWhatIsWanted(t *testing.T) {
	s, err := find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{rowCommits, rowLag, rowOpenTurns, rowMemory, rowTakeTurns} {
		for at := range measured(t, s, suite.Settings{Rounds: 1, Rows: []string{row}}) {
			if at.Row != row {
				t.Errorf("samples of %v; only %s is wanted", at, row)
			}
		}
	}
}

// TestCost_inRequests holds what the rows report about requests against what is promised.
func TestCost_inRequests(t *testing.T) {
	s, err := find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	job := suite.Job{Settings: suite.Settings{Rounds: 1}, Task: taskRead, Dir: t.TempDir()}
	limits := map[string]float64{rowOpenTurns: 5, rowFirstAsks: 2}
	err = do(s, tiny(), job, func(at suite.At, values ...float64) {
		if limit, ok := limits[at.Row]; ok && slices.Max(values) > limit {
			t.Errorf("%v: %v", at, values)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGet_noticesAnotherRecord(t *testing.T) {
	r := &run{job: suite.Job{Dir: t.TempDir()}}
	var err error
	if r.system, err = find("stoat"); err != nil {
		t.Fatal(err)
	}
	defer r.end()
	db, _, err := r.opened(modeLocal, r.folder(), nil)
	if err == nil {
		_, err = db.call(request{Do: doLoad, To: 3})
	}
	if err == nil {
		_, err = db.call(request{Do: doGet, IDs: []uint64{2, 0}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.call(request{Do: doGet, IDs: []uint64{3}}); err == nil {
		t.Error("a record that was not written is there")
	}
	if _, err := db.call(request{Do: "nonsense"}); !errors.Is(err, errUnsupported) {
		t.Errorf("error %v", err)
	}
}
