package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/suite"
)

// sheet returns the lines of a report of one result, each as a map by its columns.
func sheet(t *testing.T, s suite.Suite, r *Result) []map[string]string {
	t.Helper()
	var out bytes.Buffer
	report := &Report{Results: []*Result{r}}
	if err := report.CSV(&out, func(string) (suite.Suite, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows[0], csvHeader()) {
		t.Errorf("the first line is %q", rows[0])
	}
	var lines []map[string]string
	for _, row := range rows[1:] {
		line := make(map[string]string)
		for i, cell := range row {
			line[rows[0][i]] = cell
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCSV_hasALineForEveryConditionOfEveryEngine(t *testing.T) {
	s, r := sample()
	lines := sheet(t, s, r)
	if want := len(r.Engines) * 5; len(lines) != want { // write, read hot, again and cold, commits
		t.Errorf("%d lines, not %d", len(lines), want)
	}
	for _, line := range lines {
		if line["engine"] != "a" || line["row"] != "write" {
			continue
		}
		for column, want := range map[string]string{
			"suite": "test", "storage": "", "sync": "true", "state": "", "x": "", "samples": "4",
			"rounds": "2", "median": "3000", "mean": "3000", "best": "2000", "p75": "4000",
			"p99": "4000", "p995": "4000", "unit": "ns", "ratio_to_best_peer": "1",
		} {
			if line[column] != want {
				t.Errorf("%s is %q, not %q", column, line[column], want)
			}
		}
		return
	}
	t.Error("no line about the engine a")
}

func TestCSV_comparesWithTheBestPeerAndTakesMoreOfRates(t *testing.T) {
	s, r := sample()
	for _, line := range sheet(t, s, r) {
		if line["engine"] != "stoat" {
			continue
		}
		if line["ratio_to_best_peer"] != "0.5" {
			t.Errorf("row %s, state %s: ratio %s, not 0.5", line["row"], line["state"],
				line["ratio_to_best_peer"])
		}
	}
}

func TestCSV_hasEveryPlaceOnAnAxis(t *testing.T) {
	s := suite.Suite{Name: "test", Rows: []suite.Row{
		{Name: "read", Unit: suite.Nanoseconds, Axis: "records"},
		{Name: "load", Unit: suite.PerSecond, Axis: TimeAxis},
	}}
	r := &Result{Suite: "test", Engines: []Engine{{Name: "stoat"}, {Name: "peer, the"}}}
	for _, x := range []float64{100, 10} {
		for _, row := range []string{"read", "load"} {
			for _, e := range r.Engines {
				r.Measurements = append(r.Measurements, suite.Measurement{
					Engine: e.Name, Round: 1, At: suite.At{Row: row, X: x}, Values: []float64{x},
				})
			}
		}
	}
	var got []string
	for _, line := range sheet(t, s, r) {
		got = append(got, strings.Join([]string{line["row"], line["x"], line["engine"]}, " "))
	}
	want := []string{
		"read 10 stoat", "read 10 peer, the", "read 100 stoat", "read 100 peer, the",
		"load 10 stoat", "load 10 peer, the", "load 100 stoat", "load 100 peer, the",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines %q, not %q", got, want)
	}
}

func TestCSV_failsForUnknownSuitesAndFullDisks(t *testing.T) {
	s, r := sample()
	report := &Report{Results: []*Result{r}}
	unknown := errors.New("no such suite")
	err := report.CSV(&bytes.Buffer{}, func(string) (suite.Suite, error) { return s, unknown })
	if !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
	err = report.CSV(fullDisk{}, func(string) (suite.Suite, error) { return s, nil })
	if !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("disk full")

// fullDisk is a writer that cannot write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
