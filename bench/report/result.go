// Package report holds a run's measurements and shows them: as tables on a terminal, as a page, as
// comma-separated values, and in Go's benchmark format.
//
// A [Report] is plain data that is stored as JSON. Everything else is computed from it alone, so a
// file shows everything about its run.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// schema is the version of the JSON format.
const schema = 1

// Report is what one run of the program measured.
type Report struct {
	Schema  int
	Started time.Time
	Machine machine.Description
	Notes   []string `json:",omitempty"` // what was left out, and why
	Results []*Result
}

// Result is what was measured of one suite, on one storage and with one durability mode.
type Result struct {
	Suite        string
	FileSystem   string // of the storage
	Settings     suite.Settings
	Engines      []Engine
	Failures     []Failure `json:",omitempty"`
	Measurements []suite.Measurement
}

// Engine is one column of the tables.
type Engine struct {
	Name, Version, Settings string
}

// Failure is a child process that did not finish its job.
type Failure struct {
	Engine, Task string
	Round        int
	Error        string
}

// New returns a report without results, for a run that starts now.
func New() *Report {
	return &Report{
		Schema:  schema,
		Started: time.Now().UTC().Truncate(time.Second),
		Machine: machine.Describe(),
	}
}

// Describe returns the engines with their versions.
func Describe(engines []engine.About) []Engine {
	versions := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
			if m.Replace != nil {
				versions[m.Path] = "this source tree"
			}
		}
	}
	var described []Engine
	for _, e := range engines {
		version := e.Version
		if version == "" {
			version = versions[e.Module]
		}
		described = append(described, Engine{e.Name, version, e.Settings})
	}
	return described
}

// Read reads a report from a file.
func Read(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read report %s: %w", path, err)
	}
	if r.Schema != schema {
		return nil, fmt.Errorf("read report %s: schema version %d instead of %d; measure again", path,
			r.Schema, schema)
	}
	return r, nil
}

// Failures returns the number of children that did not finish their jobs.
func (r *Report) Failures() (n int) {
	for _, result := range r.Results {
		n += len(result.Failures)
	}
	return n
}

// Quantile returns the smallest sample that is not exceeded by at least the given share of the
// samples; for one half of an even number of samples, the mean of the two in the middle.
func Quantile(samples []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	if share == 0.5 && n%2 == 0 {
		return sorted[n/2-1]/2 + sorted[n/2]/2 // their sum could overflow
	}
	index := int(share * float64(n))
	if float64(index) == share*float64(n) {
		index--
	}
	return sorted[min(max(index, 0), n-1)]
}

// Within returns the best value that at least the given share of the samples reach: the quantile if
// less is better, and counted from the other end for rates.
func Within(samples []float64, share float64, unit suite.Unit) float64 {
	if unit != suite.PerSecond {
		return Quantile(samples, share)
	}
	costs := make([]float64, len(samples))
	for i, v := range samples {
		costs[i] = -v
	}
	return -Quantile(costs, share)
}

// Median returns the median of the samples.
func Median(samples []float64) float64 { return Quantile(samples, 0.5) }

// Mean returns the average of the samples.
func Mean(samples []float64) float64 {
	var mean float64
	for i, v := range samples {
		mean += (v - mean) / float64(i+1) // does not overflow, as a sum could
	}
	return mean
}
