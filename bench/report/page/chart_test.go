package page

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

func TestAxis_hasRoundTicks(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		log    bool
		binary bool
		want   []float64
	}{
		{"decades", []float64{10, 1e6}, true, false, []float64{10, 100, 1000, 1e4, 1e5, 1e6}},
		{"less than a decade", []float64{300, 900}, true, false, []float64{500, 1000}},
		{"one value", []float64{100}, true, false, []float64{50, 100, 200}},
		{"many decades", []float64{1, 1e12}, true, false,
			[]float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}},
		{"bytes", []float64{1024, 1 << 18}, true, true,
			[]float64{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}},
		{"linear", []float64{3, 47}, false, false, []float64{0, 10, 20, 30, 40}},
		{"linear bytes", []float64{0, 4096}, false, true, []float64{0, 1024, 2048, 3072, 4096}},
		{"zeros", []float64{0, 0}, false, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{"zero cannot be logarithmic", []float64{0, 10}, true, false, []float64{0, 2, 4, 6, 8, 10}},
		{"nothing", nil, true, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
	} {
		a := newAxis(c.values, c.log, 0, 100)
		a.binary = c.binary
		got := a.ticks()
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
		if !slices.EqualFunc(got, c.want, near) {
			t.Errorf("%s: ticks %v, not %v", c.name, got, c.want)
		}
	}
}

func TestAxis_mapsItsEnds(t *testing.T) {
	for _, log := range []bool{true, false} {
		a := newAxis([]float64{1, 10, 100}, log, 200, 20)
		if got := a.at(100); math.Abs(got-20) > 1e-9 {
			t.Errorf("the highest value is at %v", got)
		}
		lowest := 0.0
		if log {
			lowest = 1
		}
		if got := a.at(lowest); math.Abs(got-200) > 1e-9 {
			t.Errorf("the lowest value is at %v", got)
		}
	}
}

func TestSpreadOut_keepsOrderAndRoom(t *testing.T) {
	places := []float64{50, 50, 49, 200, 3, 199}
	got := spreadOut(places, 10, 190)
	order := []int{4, 2, 0, 1, 5, 3}
	for i, index := range order {
		if got[index] < 10-1e-9 || got[index] > 190+1e-9 {
			t.Errorf("place %v is outside", got[index])
		}
		if i > 0 && got[index]-got[order[i-1]] < keyHeight-1e-9 {
			t.Errorf("places %v and %v overlap", got[order[i-1]], got[index])
		}
	}
}

func TestLines_areToldApartByMoreThanColour(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 24 {
		c := class(false, i)
		if seen[c] {
			t.Errorf("line %d looks like another: %s", i, c)
		}
		seen[c] = true
		if i > 0 && shape(i, 0, 0) == shape(i-1, 0, 0) {
			t.Errorf("lines %d and %d have the same marks", i-1, i)
		}
	}
	if class(true, 0) != "ours" {
		t.Error("our line is not distinct")
	}
}

func TestCurves_makeOneChartOfTheFewer(t *testing.T) {
	r := sampleReport()
	for _, c := range []struct {
		result int
		row    string
		charts int
		lines  int
	}{
		{1, "write_bulk", 2, 6}, // engines, and what records are laid out as
		{3, "curve", 3, 12},     // sizes of values, and engines
	} {
		result := r.Results[c.result]
		s, err := findSample(result.Suite)
		if err != nil {
			t.Fatal(err)
		}
		v := &view{report.NewFigures(result), s}
		groups := v.curves()
		i := slices.IndexFunc(groups, func(g curveGroup) bool { return g.Name == c.row })
		if i < 0 {
			t.Fatalf("no charts of %s", c.row)
		}
		if n := len(groups[i].Charts); n != c.charts {
			t.Errorf("%s has %d charts, not %d", c.row, n, c.charts)
		}
		for _, chart := range groups[i].Charts {
			if n := len(chart.Lines); n != c.lines {
				t.Errorf("a chart of %s has %d lines, not %d", c.row, n, c.lines)
			}
			if len(chart.Numbers.Lines) == 0 {
				t.Errorf("a chart of %s has no numbers", c.row)
			}
		}
	}
}

func TestCurves_overTimeHaveFewPoints(t *testing.T) {
	row := suite.Row{Name: "curve", Unit: suite.PerSecond, Axis: report.TimeAxis}
	r := &report.Result{Engines: []report.Engine{{Name: "stoat"}}}
	for i := range 1000 {
		r.Measurements = append(r.Measurements, suite.Measurement{
			Engine: "stoat", Round: 1, At: suite.At{Row: "curve", X: float64(i + 1)},
			Values: []float64{1},
		})
	}
	v := &view{report.NewFigures(r), suite.Suite{Rows: []suite.Row{row}}}
	lines := v.curves()[0].Charts[0].Numbers.Lines
	if n := len(lines); n > timeSteps || n < timeSteps/3 {
		t.Errorf("%d points", n)
	}
	if first, last := lines[0].Label, lines[len(lines)-1].Label; first != "50" || last != "1,000" {
		t.Errorf("from %s to %s", first, last)
	}
}

func TestBars_areLogarithmicIfOneIsFarLonger(t *testing.T) {
	row := suite.Row{Name: "get", Unit: suite.Nanoseconds}
	chart := func(values ...float64) barChart {
		r := &report.Result{}
		for i, value := range values {
			name := "engine" + strconv.Itoa(i)
			r.Engines = append(r.Engines, report.Engine{Name: name})
			r.Measurements = append(r.Measurements, suite.Measurement{
				Engine: name, Round: 1, At: suite.At{Row: row.Name}, Values: []float64{value},
			})
		}
		v := &view{report.NewFigures(r), suite.Suite{Rows: []suite.Row{row}}}
		return v.bars(v.Lines(v.suite))[0].Charts[0]
	}
	linear := chart(10, 20, 500)
	if strings.Contains(linear.Note, "log") || linear.Engine[1].Width != "4.00%" {
		t.Errorf("%+v", linear)
	}
	log := chart(10, 1000, 100_000, 0)
	if !strings.Contains(log.Note, "log scale") {
		t.Errorf("%+v", log)
	}
	for i, want := range []string{"20.00%", "60.00%", "100.00%", "0.00%"} {
		if got := log.Engine[i].Width; got != want {
			t.Errorf("bar %d is %s long, not %s", i, got, want)
		}
	}
}

func TestCurves_ofOnePlaceAreBars(t *testing.T) {
	row := suite.Row{Name: "read_all", Unit: suite.Nanoseconds, Axis: "items"}
	r := &report.Result{
		Engines: []report.Engine{{Name: "stoat"}},
		Measurements: []suite.Measurement{
			{Engine: "stoat", Round: 1, At: suite.At{Row: row.Name, X: 5000}, Values: []float64{1}},
		},
	}
	v := &view{report.NewFigures(r), suite.Suite{Rows: []suite.Row{row}}}
	bars := v.bars(v.Lines(v.suite))
	if len(bars) != 1 || bars[0].Name != "read_all, at 5,000 items" {
		t.Errorf("bars %+v", bars)
	}
	if curves := v.curves(); len(curves) != 0 {
		t.Errorf("curves %+v", curves)
	}
}
