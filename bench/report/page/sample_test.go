package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// sampleSeed makes the numbers of the sample; they mean nothing.
const sampleSeed = 7

// sampleSuites are suites of all forms that rows can have.
func sampleSuites() []suite.Suite {
	ns := suite.Nanoseconds
	states := []string{"loaded", "settled", "reopened"}
	ways := []string{"binary", "binary+names", "json", "gob", "multikv", "nested"}
	sizes := []string{"128", "1Ki", "16Ki"}
	along := func(name, about string, unit suite.Unit) suite.Row {
		return suite.Row{Name: name, Unit: unit, States: ways, Axis: "records", About: about}
	}
	return []suite.Suite{
		{Name: "ssb", About: "appending and reading a log of messages", Rows: []suite.Row{
			{Name: "append", Unit: ns, About: "5,000 messages in one transaction",
				Bound: &suite.Bound{Engine: "badger", Times: 0.01, Of: []string{"bbolt", "stoat"}}},
			{Name: "read_random", Unit: ns, States: states, Cold: "reopened", About: "5,000 gets"},
			{Name: "read_iterate", Unit: ns, States: states, Cold: "reopened", About: "steps"},
			{Name: "put_parallel", Unit: suite.PerSecond, States: []string{"1", "64"},
				About: "commits"},
			{Name: "size", Unit: suite.Bytes, States: []string{"apparent", "allocated"},
				About: "on disk"},
			{Name: "never_measured", Unit: ns},
		}},
		{Name: "strategies", About: "how to lay a record out", Rows: []suite.Row{
			along("write_bulk", "all records in one transaction, for a record", ns),
			along("read", "one record in a transaction of its own, decoded", ns),
			along("storage", "bytes on disk after Close", suite.Bytes),
		}},
		{Name: "items", About: "a document store's everyday operations", Rows: []suite.Row{
			{Name: "create_instance", Unit: ns}, {Name: "open_repository_100k", Unit: ns},
			{Name: "read_by_path", Unit: ns, About: "one item"},
		}},
		{Name: "load", About: "loading and scanning large sets of random values", Rows: []suite.Row{
			{Name: "load", Unit: ns, States: sizes, About: "all keys in batches of 1,000"},
			{Name: "curve", Unit: suite.PerSecond, States: sizes, Axis: report.TimeAxis,
				About: "keys written in a second"},
		}},
	}
}

// findSample finds one of the sample suites.
func findSample(name string) (suite.Suite, error) {
	for _, s := range sampleSuites() {
		if s.Name == name {
			return s, nil
		}
	}
	return suite.Suite{}, fmt.Errorf("no suite %q", name)
}

// sampleEngines are as many as a full run has.
func sampleEngines() []string {
	return []string{"stoat", "bbolt", "badger", "badger-snappy", "badger-zstd", "pebble",
		"pebble-snappy", "pebble-zstd", "sqlite", "sqlite-wal", "goleveldb", "lmdb"}
}

// sampleReport returns a report like that of a full run.
func sampleReport() *report.Report {
	r := &report.Report{
		Schema:  1,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Machine: machine.Description{
			CPU: "Example 9000", CPUs: 2, Memory: 24 << 30, System: "linux/amd64 6.1",
			Go: "go1.26.8",
		},
		Notes: []string{"rocksdb is not measured: librocksdb-dev is not installed"},
	}
	random := rand.New(rand.NewPCG(sampleSeed, 0))
	for _, place := range []string{"fast", "slow"} {
		for _, s := range sampleSuites() {
			if place == "slow" && s.Name != "ssb" {
				continue
			}
			r.Results = append(r.Results, sampleResult(s, place, random))
		}
	}
	r.Results[0].Failures = []report.Failure{
		{Engine: "lmdb", Task: "messages", Round: 2, Error: "signal: killed: out of memory"},
	}
	return r
}

func sampleResult(s suite.Suite, place string, random *rand.Rand) *report.Result {
	result := &report.Result{
		Suite: s.Name, FileSystem: "ext4",
		Settings: suite.Settings{
			Profile: "full", Rounds: 2, Seed: 1, Order: "be", Sync: place == "fast", Storage: place,
		},
	}
	engines := sampleEngines()
	if s.Name == "strategies" {
		engines = engines[:2]
	}
	for i, name := range engines {
		result.Engines = append(result.Engines, report.Engine{
			Name: name, Version: "v1.2.3", Settings: "none that is worth a word",
		})
		for _, row := range s.Rows {
			if row.Name != "never_measured" {
				sampleRow(result, row, name, float64(i), random)
			}
		}
	}
	return result
}

// sampleRow adds the samples of a row.
func sampleRow(r *report.Result, row suite.Row, engine string, index float64, random *rand.Rand) {
	states := row.States
	if len(states) == 0 {
		states = []string{""}
	}
	xs := []float64{0}
	switch row.Axis {
	case "records":
		xs = []float64{10, 100, 1000, 10_000, 100_000, 1_000_000}
	case report.TimeAxis:
		xs = nil
		for second := range 40 + 9*int(index) {
			xs = append(xs, float64(second+1))
		}
	}
	base := 4000 * math.Exp(3*random.Float64()) * (1 + index/4)
	for i, state := range states {
		cost := base * (1 + float64(i)) * math.Exp(random.Float64())
		if row.Unit == suite.PerSecond {
			cost = 1e9 / cost
		}
		for j, x := range xs {
			for round := 1; round <= r.Settings.Rounds; round++ {
				var values []float64
				for range 4 {
					noise := math.Exp(random.NormFloat64() / 8)
					values = append(values, cost*(1+0.2*float64(j))*noise)
				}
				if row.Cold != "" {
					values[0] *= 30
				}
				if row.Unit == suite.PerSecond {
					values = []float64{cost / (1 + x/60) * math.Exp(random.NormFloat64()/6)}
				}
				r.Measurements = append(r.Measurements, suite.Measurement{
					Engine: engine, Round: round, Values: values,
					At: suite.At{Row: row.Name, State: state, X: x},
				})
			}
		}
	}
}
