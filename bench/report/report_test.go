package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/suite"
)

// sample returns a suite and a result of it, with more engines than one table holds.
func sample() (suite.Suite, *Result) {
	s := suite.Suite{Name: "test", Rows: []suite.Row{
		{Name: "write", Unit: suite.Nanoseconds},
		{Name: "read", Unit: suite.Nanoseconds, States: []string{"hot", "again"}, Cold: "again"},
		{Name: "commits", Unit: suite.PerSecond},
		{Name: "nothing", Unit: suite.Bytes},
	}}
	r := &Result{Suite: "test", Settings: suite.Settings{Profile: "quick", Rounds: 2, Sync: true}}
	add := func(engine string, round int, row, state string, values ...float64) {
		r.Measurements = append(r.Measurements, suite.Measurement{
			Engine: engine, Round: round, At: suite.At{Row: row, State: state}, Values: values,
		})
	}
	names := []string{"stoat", "a", "b", "b-fast", "c", "d", "e", "f", "g-slow"}
	for i, name := range names {
		cost := float64(1000 * (i + 1))
		r.Engines = append(r.Engines, Engine{Name: name})
		for round := 1; round <= 2; round++ {
			add(name, round, "write", "", cost, 2*cost)
			add(name, round, "read", "hot", cost, cost, cost)
			add(name, round, "read", "again", 100*cost, cost, cost, cost)
			add(name, round, "commits", "", 1e6/cost)
		}
	}
	return s, r
}

func TestTable_marksTheBestPeerAndComparesWithIt(t *testing.T) {
	s, r := sample()
	var out bytes.Buffer
	r.Table(&out, s)
	for _, want := range []string{
		"\n                                               b\n",
		"              stoat       a       b    fast       c       d       e   ratio\n",
		"write             1.50µs  3.00µs*",
		"  cold             100µs   200µs*",
		"commits            1.00k     500*",
		"0.50\n",
		"   slow   ratio\n", // the second table
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "nothing") {
		t.Errorf("a row without samples in\n%s", out.String())
	}
}

func TestTableAndDetails_fitInto80Columns(t *testing.T) {
	s, r := sample()
	var out bytes.Buffer
	r.Table(&out, s)
	r.Details(&out, s)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTable_reportsFailures(t *testing.T) {
	s, r := sample()
	r.Engines, r.Measurements = r.Engines[:1], nil
	r.Failures = []Failure{{"stoat", "messages", 2, "out of luck"}}
	var out bytes.Buffer
	r.Table(&out, s)
	if want := "failed: stoat, messages, round 2: out of luck"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

func TestQuantile_ofFewSamples(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		share   float64
		want    float64
	}{
		{[]float64{5}, 0.5, 5},
		{[]float64{5}, 0.99, 5},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{4, 1, 3, 2}, 0.75, 3},
		{[]float64{4, 1, 3, 2}, 0.99, 4},
	} {
		if got := Quantile(c.samples, c.share); got != c.want {
			t.Errorf("quantile %v of %v is %v, not %v", c.share, c.samples, got, c.want)
		}
	}
}

func TestFormat_keepsThreeDigitsInSixCharacters(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  suite.Unit
		want  string
	}{
		{0, suite.Nanoseconds, "0ns"},
		{9.996, suite.Nanoseconds, "10.0ns"},
		{999.4, suite.Nanoseconds, "999ns"},
		{999.6, suite.Nanoseconds, "1.00µs"},
		{1_234_567, suite.Nanoseconds, "1.23ms"},
		{98_760_000_000, suite.Nanoseconds, "98.8s"},
		{397.2, suite.Bytes, "397B"},
		{1 << 20, suite.Bytes, "1.00M"},
		{12_345, suite.PerSecond, "12.3k"},
	} {
		got := Format(c.value, c.unit)
		if got != c.want || utf8.RuneCountInString(got) > 6 {
			t.Errorf("%v %s is %q, not %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestResult_survivesItsFile(t *testing.T) {
	_, result := sample()
	r := New()
	r.Results = append(r.Results, result)
	path := filepath.Join(t.TempDir(), "result.json")
	var file bytes.Buffer
	if err := errors.Join(r.JSON(&file), os.WriteFile(path, file.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("wrote %+v, read %+v", r, got)
	}
}
