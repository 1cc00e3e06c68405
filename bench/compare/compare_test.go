package compare

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// find knows one suite, with so many rows of nanoseconds and one of each other kind.
func find(name string) (suite.Suite, error) {
	if name != "test" {
		return suite.Suite{}, fmt.Errorf("no suite %q", name)
	}
	s := suite.Suite{Name: name, Rows: []suite.Row{
		{Name: "commits", Unit: suite.PerSecond},
		{Name: "size", Unit: suite.Bytes},
		{Name: "curve", Unit: suite.Nanoseconds, Axis: report.TimeAxis},
		{Name: "read", Unit: suite.Nanoseconds, States: []string{"warm", "again"}, Cold: "again"},
	}}
	for i := range 200 {
		s.Rows = append(s.Rows, suite.Row{Name: fmt.Sprint("row", i), Unit: suite.Nanoseconds})
	}
	return s, nil
}

// newReport returns a report with an engine of this build and one of a released module.
func newReport() *report.Report {
	r := report.New()
	r.Results = []*report.Result{{Suite: "test", Engines: []report.Engine{
		{Name: "ours", Version: "this source tree"}, {Name: "peer", Version: "v1.2.3"},
	}}}
	r.Results[0].Settings.Rounds = 5
	return r
}

// add adds a sample for each round.
func add(r *report.Report, engine, row string, values ...float64) {
	addAt(r, engine, suite.At{Row: row}, values...)
}

func addAt(r *report.Report, engine string, at suite.At, values ...float64) {
	for i, v := range values {
		r.Results[0].Measurements = append(r.Results[0].Measurements, suite.Measurement{
			Engine: engine, Round: i + 1, At: at, Values: []float64{v},
		})
	}
}

// around returns the medians of five rounds with 5 % of noise between them.
func around(random *rand.Rand, mean float64) []float64 {
	values := make([]float64, 5)
	for i := range values {
		values[i] = mean * (1 + 0.05*random.NormFloat64())
	}
	return values
}

// verdict returns the verdict on the only row.
func verdict(t testing.TB, old, new *report.Report) Verdict {
	t.Helper()
	c := Compare(old, new, find)
	if len(c.Pairs) != 1 {
		t.Fatalf("%d pairs: %+v", len(c.Pairs), c)
	}
	return c.Pairs[0].Verdict
}

func TestCompare_seesNoChangeBetweenRunsOfOneBuild(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	old, new := newReport(), newReport()
	for i := range 200 {
		// What all rounds of a run have in common differs from run to run by 3 %.
		common := 1 + 0.03*random.NormFloat64()
		row := fmt.Sprint("row", i)
		add(old, "ours", row, around(random, 1000)...)
		add(new, "ours", row, around(random, 1000*common)...)
	}
	c := Compare(old, new, find)
	if same := len(c.with(Same)); same < 180 {
		t.Errorf("seed %d: no change in only %d of %d rows", seed, same, len(c.Pairs))
	}
}

func TestCompare_catchesASlowDownOfAFifth(t *testing.T) {
	const seed, trials = 2, 200
	random := rand.New(rand.NewPCG(seed, seed))
	var caught int
	for range trials {
		old, new := newReport(), newReport()
		add(old, "ours", "row1", around(random, 1000)...)
		add(new, "ours", "row1", around(random, 1200)...)
		if verdict(t, old, new) == Worse {
			caught++
		}
	}
	if caught < trials*9/10 {
		t.Errorf("seed %d: caught in %d of %d trials", seed, caught, trials)
	}
}

func TestCompare_seesAChangeBesideABadRound(t *testing.T) {
	const seed, trials = 3, 200
	random := rand.New(rand.NewPCG(seed, seed))
	var caught int
	for range trials {
		old, new := newReport(), newReport()
		slow := around(random, 1200)
		slow[0] *= 3
		add(old, "ours", "row1", around(random, 1000)...)
		add(new, "ours", "row1", slow...)
		if verdict(t, old, new) == Worse {
			caught++
		}
	}
	if caught < trials*8/10 {
		t.Errorf("seed %d: caught in %d of %d trials", seed, caught, trials)
	}
}

func TestCompare_takesWhatAllPeersDoForTheMachines(t *testing.T) {
	old, new := newReport(), newReport()
	for i := range 40 {
		row := fmt.Sprint("row", i)
		for _, engine := range []string{"ours", "peer"} {
			add(old, engine, row, 1000, 1001, 1002, 1003, 1004)
			add(new, engine, row, 1100, 1101, 1102, 1103, 1104)
		}
	}
	add(old, "ours", "row50", 1000, 1001, 1002, 1003, 1004)
	add(new, "ours", "row50", 1300, 1301, 1302, 1303, 1304)
	c := Compare(old, new, find)
	if worse := c.with(Worse); len(worse) != 1 || worse[0].Row != "row50" {
		t.Errorf("worse: %+v", worse)
	}
	if c.Margin < 0.09 || c.Margin > 0.11 {
		t.Errorf("margin %v", c.Margin)
	}
	new.Results[0].Engines[1].Version = "v1.3.0"
	if c := Compare(old, new, find); c.Margin != 0 || len(c.with(Worse)) != 81 {
		t.Errorf("a peer of another version: margin %v, %d worse", c.Margin, len(c.with(Worse)))
	}
}

func TestCompare_knowsWhatIsWorse(t *testing.T) {
	low, high := []float64{1, 1.01, 1.02, 1.03, 1.04}, []float64{2, 2.01, 2.02, 2.03, 2.04}
	for _, c := range []struct {
		row      string
		old, new []float64
		want     Verdict
	}{
		{"row1", low, high, Worse},
		{"row1", high, low, Better},
		{"size", low, high, Worse},
		{"commits", low, high, Better},
		{"commits", high, low, Worse},
		{"row1", low, low, Same},
		{"size", []float64{397, 397, 397, 397, 397}, []float64{409, 409, 409, 409, 409}, Worse},
		{"size", []float64{397, 397, 397, 397, 397}, []float64{398, 398, 398, 398, 398}, Same},
		{"size", []float64{0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0}, Same},
		{"size", []float64{0, 0, 0, 0, 0}, []float64{8, 8, 8, 8, 8}, Worse},
		{"row1", low[:4], high, Unknown},
		{"row1", low, high[:1], Unknown},
	} {
		old, new := newReport(), newReport()
		add(old, "ours", c.row, c.old...)
		add(new, "ours", c.row, c.new...)
		if got := verdict(t, old, new); got != c.want {
			t.Errorf("%s from %v to %v: %s instead of %s", c.row, c.old, c.new, got, c.want)
		}
	}
}

func TestCompare_countsARoundOnce(t *testing.T) {
	old, new := newReport(), newReport()
	for range 50 { // many samples of one process
		addAt(old, "ours", suite.At{Row: "row1"}, 1000)
		addAt(new, "ours", suite.At{Row: "row1"}, 1500)
	}
	c := Compare(old, new, find)
	if p := c.Pairs[0]; p.OldRounds != 1 || p.Verdict != Unknown || p.Ratio != 1.5 {
		t.Errorf("%+v", p)
	}
}

func TestCompare_knowsTheFirstSampleOfEachRound(t *testing.T) {
	old, new := newReport(), newReport()
	for round := 1; round <= 5; round++ {
		for r, first := range map[*report.Report]float64{old: 100, new: 200} {
			r.Results[0].Measurements = append(r.Results[0].Measurements, suite.Measurement{
				Engine: "ours", Round: round, At: suite.At{Row: "read", State: "again"},
				Values: []float64{first, 10, 10, 10},
			})
		}
	}
	c := Compare(old, new, find)
	if len(c.Pairs) != 2 {
		t.Fatalf("%+v", c.Pairs)
	}
	if p := c.Pairs[0]; p.Cold || p.Verdict != Same || p.New != 10 {
		t.Errorf("again: %+v", p)
	}
	if p := c.Pairs[1]; !p.Cold || p.Verdict != Worse || p.New != 200 {
		t.Errorf("cold: %+v", p)
	}
}

// mixed returns two reports that differ in every way.
func mixed() (old, new *report.Report) {
	old, new = newReport(), newReport()
	new.Machine.CPU = strings.Repeat("a long name ", 8)
	add(old, "ours", "row1", 1000, 1010, 1020, 1030, 1040)
	add(new, "ours", "row1", 2000, 2010, 2020, 2030, 2040)
	add(old, "ours", "row2", 3000, 3010, 3020, 3030, 3040)
	add(new, "ours", "row2", 2000, 2010, 2020, 2030, 2040)
	add(old, "ours", "row3", 5, 5, 5, 5, 5)
	add(new, "ours", "row3", 5, 5, 5, 5, 5)
	add(old, "an-engine-with-a-name", "row4", 1)
	add(new, "an-engine-with-a-name", "row4", 1e9)
	add(old, "ours", "row5", 1, 2, 3, 4)
	add(new, "ours", "row6", 1, 2, 3, 4)
	addAt(new, "ours", suite.At{Row: "curve", X: 0.5}, 1)
	old.Results = append(old.Results, &report.Result{Suite: "gone"})
	return old, new
}

func TestText_saysWhatChangedAndWhatDidNot(t *testing.T) {
	old, new := mixed()
	c := Compare(old, new, find)
	var out bytes.Buffer
	c.Text(&out, false)
	for _, want := range []string{
		"The machines differ",
		"Suite gone is not compared",
		"Worse (slower, larger) in 1 of 4 rows\ntest, not synced",
		"  ours            row1                        1.02µs  2.02µs   +98%   0.008\n",
		"Better (faster, smaller) in 1 of 4 rows",
		"No change in 1 of 4 rows.",
		"1 round: cannot tell in 1 of 4 rows; measure with -rounds 5.",
		"Only in the old report: 1 row(s)\n  test, not synced, ours, row5\n",
		"Only in the new report: 1 row(s)\n  test, not synced, ours, row6\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "row3") {
		t.Errorf("a row without a change in\n%s", out.String())
	}
	out.Reset()
	c.Text(&out, true)
	if !strings.Contains(out.String(), "row3") {
		t.Errorf("not all rows in\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestText_saysPlainlyThatNothingHasChanged(t *testing.T) {
	old, new := newReport(), newReport()
	add(old, "ours", "row1", 1, 2, 3, 4, 5)
	add(new, "ours", "row1", 1, 2, 3, 4, 5)
	var out bytes.Buffer
	Compare(old, new, find).Text(&out, false)
	if !strings.Contains(out.String(), "No change in any of 1 rows.") {
		t.Error(out.String())
	}
	out.Reset()
	Compare(newReport(), newReport(), find).Text(&out, false)
	if !strings.Contains(out.String(), "no comparable row in common") {
		t.Error(out.String())
	}
}
