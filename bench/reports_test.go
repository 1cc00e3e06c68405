package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// growthReport returns the path of a report with curves.
func growthReport(t *testing.T) string {
	t.Helper()
	r := report.New()
	result := &report.Result{Suite: "growth", Engines: []report.Engine{{Name: "stoat"}}}
	for _, x := range []float64{10, 100} {
		result.Measurements = append(result.Measurements, suite.Measurement{
			Engine: "stoat", Round: 1, At: suite.At{Row: "grow_get", X: x}, Values: []float64{7},
		})
	}
	r.Results = append(r.Results, result)
	path := filepath.Join(t.TempDir(), "results.json")
	if err := replaceFile(path, r.JSON); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReport_renewsTheTablesOfAPage(t *testing.T) {
	file, path := growthReport(t), filepath.Join(t.TempDir(), "page.md")
	start := partStart + "-markdown " + file + partStop
	text := "# Title\n\n" + start + "\nold\n" + partEnd + "\n\nmiddle\n\n" +
		start + partEnd + "\nend\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := reportCommand([]string{"-update", path}, os.Stdout); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		parts := strings.Split(got, start+"\n\n| row |  | stoat |\n")
		if len(parts) != 3 || !strings.HasPrefix(got, "# Title\n\n") ||
			!strings.HasSuffix(got, "\n\n"+partEnd+"\nend\n") || strings.Contains(got, "old") ||
			strings.Count(got, "\n\nmiddle\n\n") != 1 {
			t.Errorf("the page is\n%s", got)
		}
	}
}

func TestReport_leavesAPageThatItCannotRenew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	for text, want := range map[string]string{
		partStart + "-markdown gone.json" + partStop + partEnd:                 "no such file",
		partStart + "-markdown -op no " + growthReport(t) + partStop + partEnd: "no samples",
		partStart + "-facts x" + partStop:                                      "no " + partEnd,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := reportCommand([]string{"-update", path}, os.Stdout)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("the page is now %q: %v", b, err)
		}
	}
}

func TestReport_drawsOnlyTheCurves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "charts.html")
	if err := reportCommand([]string{"-charts", path, growthReport(t)}, os.Stdout); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{"<svg": 1, "<b>grow_get</b>": 1, "<table": 0} {
		if strings.Count(string(b), want) != times {
			t.Errorf("%q is not %d times in\n%s", want, times, b)
		}
	}
}
