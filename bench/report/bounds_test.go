package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/suite"
)

// bounded returns a suite whose rows have bounds, and a result of it.
func bounded() (suite.Suite, *Result) {
	b := &suite.Bound{Engine: "stoat", Times: 2, Of: []string{"stoat-none", "stoat-zstd", "absent"}}
	s := suite.Suite{Name: "test", Rows: []suite.Row{
		{Name: "get", Unit: suite.Nanoseconds, States: []string{"small", "large"}, Bound: b},
		{Name: "rate", Unit: suite.PerSecond, Bound: b},
		{Name: "free", Unit: suite.Nanoseconds},
		{Name: "unmeasured", Unit: suite.Nanoseconds, Bound: b},
	}}
	r := &Result{Suite: "test"}
	for i, name := range []string{"stoat", "stoat-none", "stoat-zstd"} {
		r.Engines = append(r.Engines, Engine{Name: name})
		for _, m := range []struct {
			row, state string
			values     [3]float64
		}{
			{"get", "small", [3]float64{200, 100, 500}},
			{"get", "large", [3]float64{300, 500, 100}},
			{"rate", "", [3]float64{100, 100, 500}},
			{"free", "", [3]float64{100, 1, 1}},
		} {
			r.Measurements = append(r.Measurements, suite.Measurement{
				Engine: name, Round: 1, At: suite.At{Row: m.row, State: m.state},
				Values: m.values[i : i+1],
			})
		}
	}
	return s, r
}

func TestBounds_compareWithTheBestOfTheBound(t *testing.T) {
	s, r := bounded()
	var got []string
	for _, b := range NewFigures(r).Bounds(s) {
		line := fmt.Sprintf("%s %d of %d", b.Row.Name, b.Met(), b.Lines)
		for _, v := range b.Missed {
			line += fmt.Sprintf(", %s %v %s", v.Line.At.State, v.Ratio, v.Best)
		}
		got = append(got, line)
	}
	want := []string{"get 1 of 2, large 3 stoat-zstd", "rate 0 of 1,  5 stoat-zstd"}
	if !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}

func TestTable_saysWhichBoundsAreMissed(t *testing.T) {
	s, r := bounded()
	var out bytes.Buffer
	r.Table(&out, s)
	for _, want := range []string{
		"\nget: stoat at most 2.00 × stoat-none or stoat-zstd or absent: met in 1 of 2\n" +
			"  large              3.00 × stoat-zstd\n",
		"\nrate: stoat at most 2.00 × stoat-none or stoat-zstd or absent: met in 0 of 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	s, r = sample()
	out.Reset()
	r.Table(&out, s)
	if strings.Contains(out.String(), "Bounds") {
		t.Errorf("bounds that nobody set in\n%s", out.String())
	}
}

func TestCSV_hasTheBoundOfItsEngineOnly(t *testing.T) {
	s, r := bounded()
	for _, line := range sheet(t, s, r) {
		bound, ratio := "", ""
		if line["engine"] == "stoat" && line["row"] == "get" {
			bound, ratio = "2", map[string]string{"small": "2", "large": "3"}[line["state"]]
		}
		if line["engine"] == "stoat" && line["row"] == "rate" {
			bound, ratio = "2", "5"
		}
		if line["bound"] != bound || line["ratio_to_bound"] != ratio {
			t.Errorf("%s %s %s: bound %q, ratio %q", line["engine"], line["row"], line["state"],
				line["bound"], line["ratio_to_bound"])
		}
	}
}
