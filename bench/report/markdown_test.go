package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// log returns a suite with states and a cold state, and a result of it.
func log() (suite.Suite, *Result) {
	s := suite.Suite{Name: "log", Rows: []suite.Row{
		{Name: "append", Unit: suite.Nanoseconds},
		{Name: "read", Unit: suite.Nanoseconds, States: []string{"warm", "again"}, Cold: "again"},
		{Name: "grow", Unit: suite.Times, Axis: "messages"},
	}}
	r := &Result{
		Suite: "log", FileSystem: "ext4",
		Settings: suite.Settings{Profile: "full", Rounds: 3, Sync: true, N: 5_000, Memory: 1 << 30},
	}
	for i, name := range []string{"bbolt", "stoat", "absent"} {
		r.Engines = append(r.Engines, Engine{Name: name, Version: "v1", Settings: "none"})
		if name == "absent" {
			continue
		}
		for _, at := range []suite.At{{Row: "append"}, {Row: "read", State: "warm"},
			{Row: "read", State: "again"}, {Row: "grow", X: 1000}, {Row: "grow", X: 10_000}} {
			r.Measurements = append(r.Measurements, suite.Measurement{
				Engine: name, Round: 1, At: at, Values: []float64{float64(20 + 20*i), 10, 10},
			})
		}
	}
	return s, r
}

func TestMarkdown_showsTheChosenRowsAndEngines(t *testing.T) {
	s, r := log()
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{Rows: []string{"append", "read/cold"}}, `
| row |  | stoat | bbolt | ratio |
| --- | --- | ---: | ---: | ---: |
| ` + "`append`" + ` |  | 10.0 ns | 10.0 ns | 1.00 |
| ` + "`read`" + ` | cold | 40.0 ns | 20.0 ns | **2.00** |
`},
		{Choice{Rows: []string{"grow"}, Engines: []string{"stoat"}}, `
| row |  | stoat |
| --- | --- | ---: |
| ` + "`grow`" + ` | 1,000 | 10.0 × |
|  | 10,000 | 10.0 × |
`},
	} {
		var out bytes.Buffer
		if !r.Markdown(&out, s, c.choice) {
			t.Errorf("%+v chooses nothing", c.choice)
		}
		table, conditions, _ := strings.Cut(out.String(), "\n\n")
		if "\n"+table+"\n" != c.want {
			t.Errorf("%+v is\n%s\ninstead of%s", c.choice, table, c.want)
		}
		conditions = strings.ReplaceAll(conditions, "\n", " ")
		if want := "Suite `log`, full profile, 3 rounds, every commit durable, ext4, 5,000 entries, " +
			"1.00 GiB of memory for each process. "; conditions != want {
			t.Errorf("conditions %q instead of %q", conditions, want)
		}
	}
	if r.Markdown(new(bytes.Buffer), s, Choice{Rows: []string{"read/never"}}) {
		t.Error("a table without lines")
	}
}

func TestMarkdownFacts_nameTheMachineAndEachEngineOnce(t *testing.T) {
	_, result := log()
	r := &Report{
		Machine: machine.Description{CPU: "Z80", CPUs: 1, Memory: 65536,
			System: "cpm/z80 2.2.1-build", Go: "go1"},
		Results: []*Result{result, result},
	}
	var out bytes.Buffer
	r.MarkdownFacts(&out)
	text := strings.ReplaceAll(out.String(), "\n", " ")
	for want, times := range map[string]int{
		"Z80, 1 CPUs, 64.0 KiB of memory, cpm/z80 2.2, go1, ": 1,
		"| bbolt | v1 | none |":                               1,
	} {
		if strings.Count(text, want) != times {
			t.Errorf("%q is not once in\n%s", want, out.String())
		}
	}
}
