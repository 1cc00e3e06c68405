package report

import (
	"bytes"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/stoatdb/stoat/bench/suite"
)

func TestGoBench_isReadBackByGosParser(t *testing.T) {
	s, r := sample()
	r.Measurements = append(r.Measurements, suite.Measurement{
		Engine: "a of/two words", Round: 1, At: suite.At{Row: "write", X: 0.5},
		Values: []float64{7, 9, 8},
	})
	report := &Report{Results: []*Result{r}}
	report.Machine.CPU = "a processor"
	var out bytes.Buffer
	if err := report.GoBench(&out, func(string) (suite.Suite, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	var lines, found int
	for in := benchfmt.NewReader(&out, "report"); in.Scan(); {
		switch record := in.Result().(type) {
		case *benchfmt.Result:
			lines++
			if got := record.GetConfig("suite"); got != "test" {
				t.Errorf("suite %q", got)
			}
			if got := record.GetConfig("cpu"); got != "a processor" {
				t.Errorf("cpu %q", got)
			}
			seconds, ok := record.Value("sec/op")
			if record.Name.String() == "Write/engine=a_of_two_words/x=0.5" {
				found++
				if !ok || seconds != 8e-9 || record.Iters != 3 {
					t.Errorf("%v s in %d samples, want 8e-9 in 3", seconds, record.Iters)
				}
			}
		case *benchfmt.SyntaxError:
			t.Error(record)
		}
	}
	if want := len(r.Measurements); lines != want || found != 1 {
		t.Errorf("%d lines, not %d; the added one %d times", lines, want, found)
	}
}

func TestGoBench_leavesOutRowsAlongTime(t *testing.T) {
	s := suite.Suite{Name: "test", Rows: []suite.Row{{Name: "load", Axis: TimeAxis}}}
	r := &Report{Results: []*Result{{Suite: "test", Measurements: []suite.Measurement{
		{Engine: "a", At: suite.At{Row: "load", X: 1}, Values: []float64{1}},
	}}}}
	var out bytes.Buffer
	if err := r.GoBench(&out, func(string) (suite.Suite, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}
