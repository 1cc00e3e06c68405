package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// GoBench writes the report in Go's benchmark format, for benchstat and similar tools. There is one
// line for each round, engine, row, state and position on an axis, with the median of the round's
// samples. Rows along a time axis are left out, because no two runs have samples at the same times.
func (r *Report) GoBench(w io.Writer, find func(name string) (suite.Suite, error)) error {
	out := benchfmt.NewWriter(w)
	for _, result := range r.Results {
		s, err := find(result.Suite)
		if err != nil {
			return err
		}
		config := r.goBenchConfig(result)
		for _, m := range result.Measurements {
			row, ok := s.Row(m.Row)
			if !ok || len(m.Values) == 0 || row.Axis == TimeAxis {
				continue
			}
			line := benchfmt.Result{
				Config: config, Name: goBenchName(m), Iters: len(m.Values),
				Values: []benchfmt.Value{{Value: Median(m.Values), Unit: goBenchUnit(row.Unit)}},
			}
			if err := out.Write(&line); err != nil {
				return err
			}
		}
	}
	return nil
}

// goBenchConfig returns the configuration shared by all lines of a result.
func (r *Report) goBenchConfig(result *Result) []benchfmt.Config {
	s := result.Settings
	var all []benchfmt.Config
	for _, c := range []struct{ key, value string }{
		{"cpu", r.Machine.CPU}, {"suite", result.Suite}, {"profile", s.Profile},
		{"n", strconv.Itoa(s.N)}, {"data", s.Data}, {"order", string(s.Order)},
		{"seed", strconv.FormatUint(s.Seed, 10)}, {"sync", strconv.FormatBool(s.Sync)},
		{"memory", strconv.FormatInt(s.Memory, 10)},
		{"storage", s.Storage}, {"filesystem", result.FileSystem},
	} {
		if c.value != "" { // an empty value would remove the key
			all = append(all, benchfmt.Config{Key: c.key, Value: []byte(c.value), File: true})
		}
	}
	return all
}

// goBenchName returns the name of a line. It includes the engine, because one file has all of them.
func goBenchName(m suite.Measurement) benchfmt.Name {
	// The format separates fields by spaces, and parts of a name by slashes.
	clean := strings.NewReplacer(" ", "_", "\t", "_", "/", "_")
	name := fmt.Sprintf("%s/engine=%s", clean.Replace(m.Row), clean.Replace(m.Engine))
	if m.State != "" {
		name += "/state=" + clean.Replace(m.State)
	}
	if m.X != 0 {
		name += "/x=" + strconv.FormatFloat(m.X, 'g', -1, 64)
	}
	return benchfmt.Name(strings.ToUpper(name[:1]) + name[1:])
}

// goBenchUnit returns the unit under the name that Go's tools know.
func goBenchUnit(u suite.Unit) string {
	switch u {
	case suite.Nanoseconds:
		return "ns/op"
	case suite.PerSecond:
		return "op/s"
	case suite.Times:
		return "ratio"
	case suite.Dollars:
		return "dollars"
	}
	return "B"
}
