// Package report holds what a run has measured, and prints it.
//
// A [Result] is plain data with a form in JSON. Tables are made from it and from nothing else, so
// that a file prints as the run did.
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

// Result is what one run has measured.
type Result struct {
	Suite        string
	Started      time.Time
	Machine      machine.Description
	Settings     suite.Settings
	Engines      []Engine
	Failures     []Failure
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

// New returns a result without measurements.
func New(s suite.Suite, engines []engine.Engine, o suite.Settings, m machine.Description) *Result {
	return &Result{
		Suite:    s.Name,
		Started:  time.Now().UTC().Truncate(time.Second),
		Machine:  m,
		Settings: o,
		Engines:  Describe(engines),
	}
}

// Describe returns the engines with their versions.
func Describe(engines []engine.Engine) []Engine {
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
		described = append(described, Engine{e.Name, versions[e.Module], e.Settings})
	}
	return described
}

// Read reads a result from a file.
func Read(path string) (*Result, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read result %s: %w", path, err)
	}
	return r, nil
}

// Write writes the result to a file.
func (r *Result) Write(path string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// samples returns an engine's samples of a row in one state, of all rounds.
func (r *Result) samples(engine, row, state string) []float64 {
	var all []float64
	for _, m := range r.Measurements {
		if m.Engine == engine && m.Row == row && m.State == state {
			all = append(all, m.Values...)
		}
	}
	return all
}

// firsts returns the first sample of each round.
func (r *Result) firsts(engine, row, state string) []float64 {
	var firsts []float64
	for _, m := range r.Measurements {
		if m.Engine == engine && m.Row == row && m.State == state && len(m.Values) > 0 {
			firsts = append(firsts, m.Values[0])
		}
	}
	return firsts
}

// quantile returns the smallest sample that at least this share of the samples does not exceed; for
// a half of an even number of samples, the mean of the two in the middle.
func quantile(samples []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	if share == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	index := int(share * float64(n))
	if float64(index) == share*float64(n) {
		index--
	}
	return sorted[min(max(index, 0), n-1)]
}

func median(samples []float64) float64 { return quantile(samples, 0.5) }
