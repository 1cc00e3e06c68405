package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/suite"
)

// along returns a suite with axes and long names, and a result of it.
func along() (suite.Suite, *Result) {
	s := suite.Suite{Name: "test", Rows: []suite.Row{
		{Name: "write", Unit: suite.Nanoseconds, Axis: "records",
			States: []string{"json", "binary+and+names"}},
		{Name: "open_a_large_repository", Unit: suite.Nanoseconds},
		{Name: "curve", Unit: suite.PerSecond, Axis: TimeAxis},
	}}
	r := &Result{Suite: "test"}
	add := func(engine, row, state string, x, value float64) {
		r.Measurements = append(r.Measurements, suite.Measurement{
			Engine: engine, Round: 1, At: suite.At{Row: row, State: state, X: x},
			Values: []float64{value},
		})
	}
	for i, name := range []string{"goleveldb", "stoat-trusted", "stoat", "sqlite-writeahead"} {
		r.Engines = append(r.Engines, Engine{Name: name})
		cost := float64(10 * (i + 1))
		for _, x := range []float64{100, 10_000, 1000} {
			add(name, "write", "json", x, cost+x)
			add(name, "write", "binary+and+names", x, cost+x)
		}
		add(name, "open_a_large_repository", "", 0, 1e30*cost)
		add(name, "curve", "", cost, 1e6)
	}
	return s, r
}

func TestTable_saysWhereOnItsAxisARowIs(t *testing.T) {
	s, r := along()
	var out bytes.Buffer
	r.Table(&out, s)
	for _, want := range []string{
		"\nwrite, at 10,000 records\n  json            10.0µs",
		"in the HTML report: curve.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\ncurve") {
		t.Errorf("a line over time in\n%s", out.String())
	}
}

func TestTable_breaksLongNames(t *testing.T) {
	s, r := along()
	var out bytes.Buffer
	r.Table(&out, s)
	r.Details(&out, s)
	for _, want := range []string{
		"\n                                          sqlite\n",
		"\n                           stoat golevel writeah\n",
		"\n                   stoat trusted      db     ead   ratio\n",
		"\nopen_a_large_repository\n                   3e22s   2e22s   1e22s*  4e22s    3.00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestFigures_takeNoneOfOursForAPeer(t *testing.T) {
	s, r := along()
	f := NewFigures(r)
	got := strings.Join(f.Engines(), " ")
	if got != "stoat stoat-trusted goleveldb sqlite-writeahead" {
		t.Errorf("engines %s", got)
	}
	for _, l := range f.AllLines(s) {
		if best := f.Best(l); l.Row.Axis != TimeAxis && best != "goleveldb" {
			t.Errorf("%v: best peer %s", l.At, best)
		}
	}
}

func TestFigures_haveNoRatioToNothing(t *testing.T) {
	row := suite.Row{Name: "written", Unit: suite.Bytes}
	l := Line{Row: row, At: suite.At{Row: row.Name}}
	measured := func(engine string, values ...float64) suite.Measurement {
		return suite.Measurement{Engine: engine, Round: 1, At: l.At, Values: values}
	}
	engines := []Engine{{Name: "stoat"}, {Name: "peer"}}
	for _, m := range [][]suite.Measurement{
		nil,
		{measured("stoat", 1)},
		{measured("peer", 1)},
		{measured("stoat", 1), measured("peer", 0)},
		{measured("stoat", 1), measured("peer")},
	} {
		f := NewFigures(&Result{Engines: engines, Measurements: m})
		if ratio, ok := f.Ratio("stoat", l); ok {
			t.Errorf("%v has ratio %v", m, ratio)
		}
	}
}

func TestFigures_rankNobodyWhereNothingIsCompared(t *testing.T) {
	s, r := sample()
	s.Rows[1].Unranked = []string{"again"}
	f := NewFigures(r)
	for _, l := range f.Lines(s) {
		_, ok := f.Ratio("stoat", l)
		ranked := l.At.State != "again"
		if ok != ranked || (f.Best(l) != "") != ranked {
			t.Errorf("%v: best %q, has a ratio: %t", l.At, f.Best(l), ok)
		}
	}
}

func TestFigures_takeNoEngineThatFailedForTheBest(t *testing.T) {
	s, r := sample()
	r.Failures = []Failure{{"a", "messages", 2, "out of luck"}}
	f := NewFigures(r)
	for _, l := range f.Lines(s) {
		if best := f.Best(l); best != "b" {
			t.Errorf("%v: best %q", l.At, best)
		}
	}
	var out bytes.Buffer
	r.Table(&out, s)
	r.Details(&out, s)
	for _, want := range []string{
		"              stoat      a†       b    fast       c       d       e   ratio\n",
		"\n† failed in some turns (see below) and does not count as a peer.\n",
		"\n  a† ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestWithin_goesFromTheBestToTheWorst(t *testing.T) {
	samples := []float64{30, 10, 50, 20, 40}
	for _, c := range []struct {
		unit  suite.Unit
		share float64
		want  float64
	}{
		{suite.Nanoseconds, 0, 10}, {suite.Nanoseconds, 0.75, 40}, {suite.Nanoseconds, 0.99, 50},
		{suite.PerSecond, 0, 50}, {suite.PerSecond, 0.75, 20}, {suite.PerSecond, 0.99, 10},
		{suite.PerSecond, 0.5, 30},
	} {
		if got := Within(samples, c.share, c.unit); got != c.want {
			t.Errorf("%v of %s: %v, not %v", c.share, c.unit, got, c.want)
		}
	}
}

func TestDigits_keepHugeAndTinyNumbersShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1.234: "1.23", -1.234: "-1.23", 99999: "99999", 123456: "1e5",
		1e300: "1e300", 4e-5: "4e-5", 0.00123: "0.00",
	} {
		if got := Digits(v); got != want {
			t.Errorf("%v is %q, not %q", v, got, want)
		}
	}
}

func TestCount_separatesThousands(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 2.5: "2.5",
	} {
		if got := Count(v); got != want {
			t.Errorf("%v is %q, not %q", v, got, want)
		}
	}
}
