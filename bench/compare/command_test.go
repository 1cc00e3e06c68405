package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/report"
)

// files writes two reports and returns their paths.
func files(t testing.TB, old, new *report.Report) (string, string) {
	t.Helper()
	var paths []string
	for _, r := range []*report.Report{old, new} {
		path := filepath.Join(t.TempDir(), "results.json")
		var file bytes.Buffer
		if err := errors.Join(r.JSON(&file), os.WriteFile(path, file.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths[0], paths[1]
}

func TestCommand_failsBeyondALimitOnly(t *testing.T) {
	old, new := mixed()
	a, b := files(t, old, new)
	var out bytes.Buffer
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{a, b}, ""},
		{[]string{a, b, "-fail", "120%"}, ""},
		{[]string{"-fail", "10%", a, b}, "worse by more than 10% in 1 row(s)"},
		{[]string{"-fail", "10%", "-least", "150%", a, b}, ""},
		{[]string{"-fail", "much", a, b}, "not a percentage"},
		{[]string{a}, "usage"},
		{[]string{a, b + "c"}, "no such file"},
	} {
		err := Command(c.args, &out, find)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, not %q", c.args, err, c.want)
		}
	}
}

func TestCommand_failsIfItIsToJudgeAndCannot(t *testing.T) {
	few, other := newReport(), newReport()
	add(few, "ours", "row1", 1, 2, 3, 4)
	add(other, "ours", "row2", 1, 2, 3, 4, 5)
	for _, c := range []struct {
		old, new *report.Report
		want     string
	}{
		{few, few, "judged nothing: both reports need 5 rounds"},
		{few, other, "judged nothing: the reports have no comparable row in common"},
		{other, other, ""},
	} {
		a, b := files(t, c.old, c.new)
		if err := Command([]string{a, b}, io.Discard, find); err != nil {
			t.Errorf("without -fail: %v", err)
		}
		for _, limit := range []string{"10%", "0"} {
			err := Command([]string{"-fail", limit, a, b}, io.Discard, find)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("-fail %s: error %v, not %q", limit, err, c.want)
			}
		}
	}
}

func TestCommand_explainsItsFlagsOnDemandOnly(t *testing.T) {
	var out bytes.Buffer
	if err := Command([]string{"-wrong", "a", "b"}, &out, find); err == nil || out.Len() > 0 ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, printed %q", err, out.String())
	}
	if err := Command([]string{"-h"}, &out, find); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{usage, "-fail", "-least", "-all", "-json"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestCommand_printsJSON(t *testing.T) {
	old, new := mixed()
	a, b := files(t, old, new)
	var out bytes.Buffer
	if err := Command([]string{"-json", a, b}, &out, find); err != nil {
		t.Fatal(err)
	}
	var c Comparison
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Pairs) != 4 || c.Pairs[0].Row != "row1" || c.Pairs[0].Verdict != Worse {
		t.Errorf("%+v", c.Pairs)
	}
}
