package sync

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/peer"
	"github.com/stoatdb/stoat/bench/suite"
)

// TestMain makes the test binary be a program with a replica of ours.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ProgramArgument {
		if err := Program(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tiny is a plan that takes no time.
func tiny() plan {
	return plan{
		sizes: []int{5, 20}, commits: 3, bulk: 2, batch: 4, opens: 2, again: 2, records: 8,
		devices: []int{1, 3}, live: 3, idle: 2,
	}
}

// do does all tasks of a system and returns how many samples they recorded.
func do(t *testing.T, s system, settings suite.Settings) map[suite.At]int {
	t.Helper()
	samples := map[suite.At]int{}
	for _, task := range tasks(settings) {
		r := &run{job: suite.Job{Settings: settings, Dir: t.TempDir()}, plan: tiny(), start: s.start,
			local: s.local}
		r.out = func(at suite.At, values ...float64) {
			samples[at] += len(values)
			if slices.Min(values) <= 0 && at.Row != rowIdle {
				t.Errorf("%v: a sample of %v", at, slices.Min(values))
			}
		}
		if err := r.do(task.Name); err != nil {
			t.Fatalf("%s: %v", task.Name, err)
		}
	}
	return samples
}

// wanted returns how many samples there must be of a system that can do everything.
func wanted(local bool) map[suite.At]int {
	p, want := tiny(), map[suite.At]int{{Row: rowCommit}: 3, {Row: rowBulk}: 2}
	for _, n := range p.sizes {
		x := float64(n)
		want[suite.At{Row: rowOpen, X: x}] = p.opens
		want[suite.At{Row: rowSize, X: x}] = 1
		if local {
			continue
		}
		want[suite.At{Row: rowPruned, X: x}] = 1
		for _, row := range []string{rowFirst, rowBytes, rowMerge, rowStart, rowStartB} {
			want[suite.At{Row: row, X: x}] = 1
		}
		for _, row := range []string{rowAgain, rowAgainB, rowAgainT} {
			want[suite.At{Row: row, X: x}] = p.again
		}
		for _, state := range []string{"server", "client"} {
			want[suite.At{Row: rowMemory, State: state, X: x}] = 1
		}
	}
	if !local {
		for _, n := range p.devices {
			want[suite.At{Row: rowChanged, X: float64(n)}] = 1
		}
		want[suite.At{Row: rowLive}], want[suite.At{Row: rowLive99}] = p.live, 1
		want[suite.At{Row: rowIdle}] = 1
	}
	return want
}

func TestTasks_measureEveryRowOfEverySystem(t *testing.T) {
	for _, s := range systems() {
		for _, sync := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/sync=%v", s.Name, sync), func(t *testing.T) {
				if s.Missing != "" {
					t.Skip(s.Missing)
				}
				if s.command != nil && testing.Short() {
					t.Skip("other systems take half a minute")
				}
				samples := do(t, s, suite.Settings{Rounds: 1, Sync: sync})
				want := wanted(s.local)
				for at := range want {
					if s.command != nil && !slices.Contains(always, at.Row) && samples[at] == 0 {
						continue // others need not be able to do everything
					}
					if samples[at] != want[at] {
						t.Errorf("%d samples of %v instead of %d", samples[at], at, want[at])
					}
				}
				for at := range samples {
					if want[at] == 0 {
						t.Errorf("samples of %v, which is no row", at)
					}
				}
			})
		}
	}
}

// always are the rows that every system that replicates must have.
var always = []string{rowCommit, rowOpen, rowSize, rowFirst, rowBytes, rowAgain,
	rowChanged, rowLive}

func TestTasks_measureOnlyWhatIsWanted(t *testing.T) {
	s, err := find(signed)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Suite().Rows {
		samples := do(t, s, suite.Settings{Rounds: 1, Rows: []string{row.Name}})
		for at := range samples {
			if at.Row != row.Name {
				t.Errorf("samples of %v; only %s is wanted", at, row.Name)
			}
		}
	}
}

func TestCheck_noticesAnotherRecord(t *testing.T) {
	s, err := find(plain)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{job: suite.Job{Dir: t.TempDir()}, start: s.start}
	defer r.end()
	items, file, err := r.data(3)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := r.open(r.job.Dir, request{ID: noRecord})
	if err == nil {
		_, err = p.call(request{Do: doCommit, File: file, To: 3, Batch: 3})
	}
	if err == nil {
		err = check(p, items)
	}
	if err != nil {
		t.Fatal(err)
	}
	items[1].Count++
	if err := check(p, items); err == nil || !strings.Contains(err.Error(), "not the ones written") {
		t.Errorf("error %v", err)
	}
}

func TestProgram_saysWhyItDied(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := peer.Start[string, answer]([]string{self, ProgramArgument, plain})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := p.Send("nonsense"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Receive(); err == nil || !strings.Contains(err.Error(), "cannot unmarshal") {
		t.Errorf("error %v", err)
	}
}
