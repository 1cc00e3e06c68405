package main

import (
	"strconv"
	"strings"
)

// level is how much to try.
type level int

const (
	quick   level = iota // minutes
	usual                // a quarter of an hour
	nightly              // hours
	levels
)

// step is a command that tries many things and logs how many.
type step struct {
	passes string         // if not empty, tests that pass are counted as this, too
	name   string         // shown as progress
	dir    string         // from the repository's root
	args   string         // of go test, at every level
	level  [levels]string // of go test, at each level
}

// The folders of the modules, from the repository's root.
const (
	library = "."
	here    = "trust"
	signed  = "replica"
	bucket  = "remote/s3"
	meters  = "metrics"
)

// seedWord stands for the seed in arguments.
const seedWord = "SEED"

// steps is everything except the fuzz targets, which are discovered. It is immutable.
var steps = []step{
	{
		name: "power cuts and failing operations", dir: library,
		args: "./internal/testing/torture -run ^TestCrash -crash.seed SEED",
		level: [levels]string{
			"-crash.points 4000", "-crash.points 20000", "-crash.points 250000",
		},
	},
	{
		name: "the same under records and feeds", dir: library,
		args:  "./internal/testing/torture/layers -run ^TestCrash -crash.seed SEED",
		level: [levels]string{"", "-crash.points 2000", "-crash.points 25000"},
	},
	{
		name: "damaged files", dir: library,
		args: "./internal/testing/torture -run ^TestCorruption -corrupt.seed SEED",
		level: [levels]string{
			"-corrupt.every 3", "-corrupt.every 1", "-corrupt.every 1 -corrupt.bits 8",
		},
	},
	{
		name: "checks, backups and salvage", dir: library,
		args: "./internal/testing/torture -run ^Test(Check|Backup|Restore|Salvage|Open) -thorough",
	},
	{
		name: "damage to each format", dir: library,
		args: "./internal/tools/inspect ./internal/manifest ./internal/table ./internal/wal",
	},
	{
		name: "races", dir: library,
		args: "-race -short . ./internal/testing/torture ./internal/table ./internal/memtable " +
			"./internal/wal ./record ./remote/internal/history",
	},
	{name: "races in object storage", dir: library, args: "-race ./remote"},
	{
		name: "histories under many settings", dir: library,
		args: "./internal/testing/torture -run ^TestMetamorphic -meta.seed SEED",
		level: [levels]string{
			"-meta.histories 3", "-meta.histories 50", "-meta.histories 3000",
		},
	},
	{
		name: "replicas", dir: signed, args: ". -run ^TestHistory(OfActs)?_equals -seed SEED",
		level: [levels]string{"-histories 1000", "-histories 10000", "-histories 50000"},
	},
	{
		name: "partial and pruned replicas", dir: signed,
		args:  ". -run ^TestHistoryOf(Starts|PartialReplicas)_ -seed SEED",
		level: [levels]string{"-histories 200", "-histories 2000", "-histories 20000"},
	},
	{
		name: "replicas in every order", dir: signed,
		args: ". -run ^Test(Pairs|Acts|Forks|Apply).*_inEveryOrder$ -orders.seed SEED",
		level: [levels]string{
			"-orders 300", "-orders 1680 -orders.scenarios 3", "-orders 1000000 -orders.scenarios 3",
		},
	},
	{
		name: "copied replicas", dir: signed, args: ". -run ^TestForks_of -forkseed SEED",
		level: [levels]string{"-forks 500", "-forks 5000", "-forks 50000"},
	},
	{
		name: "damaged and killed replicas", dir: signed,
		args:  ". -run ^TestCrash -crash.seed SEED",
		level: [levels]string{"-crash.points 1000", "-crash.points 5000", "-crash.points 50000"},
	},
	{
		name: "killed syncs", dir: signed, args: "./kill -kill.seed SEED",
		level: [levels]string{"-kill.rounds 50", "-kill.rounds 200", "-kill.rounds 2000"},
	},
	{
		name: "replicas of which everything is asked at once", dir: signed,
		args: "./stress -stress.seed SEED",
		level: [levels]string{
			"-stress.rounds 20", "-stress.rounds 100 -stress.for 1s", "-stress.rounds 2000 -stress.for 1s",
		},
	},
	{
		name: "crashes and faults of databases in object storage", dir: library,
		args:  "./remote -run ^Test(Crash|Wait_losesNothing) -crash.seed SEED",
		level: [levels]string{"-crash.runs 40", "-crash.runs 300", "-crash.runs 10000"},
	},
	{name: "folders as stores", dir: library, args: "./remote/folderstore -run ^TestCrash_"},
	{
		name: "simulated logs", dir: library,
		args:  "./remote/internal/history -run ^TestSim_ -sim.seed SEED",
		level: [levels]string{"-sim.runs 3000", "-sim.runs 10000", "-sim.runs 300000"},
	},
	{
		name: "all orders of small logs", dir: library, args: "./remote/internal/model",
		level: [levels]string{"", "-model.large", "-model.large"},
	},
	{
		name: "the same tests on one processor and on two", dir: library,
		passes: "tests on one processor or two",
		args: "-cpu 1,2 ./remote ./remote/folderstore ./remote/internal/diskcache " +
			"./remote/internal/history ./remote/internal/object ./remote/internal/objectfs " +
			"./remote/internal/ship ./internal/engine ./internal/commit",
		level: [levels]string{"-short", "-count 2", "-count 100"},
	},
	{name: "servers of object storage", dir: bucket, args: ". -run ^TestServers -servers"},
	{name: "a server of metrics", dir: meters, args: "./prom -run ^TestServers -servers"},
	{
		name: "failovers", dir: bucket, args: "./failover -servers -failover.seed SEED",
		level: [levels]string{
			"-failover.rounds 20", "-failover.rounds 100 -failover.minutes",
			"-failover.rounds 1000 -failover.minutes",
		},
	},
	{
		name: "killed processes", dir: here, args: "./kill -kill.seed SEED",
		level: [levels]string{
			"-kill.rounds 50 -kill.opens 100", "-kill.rounds 300 -kill.opens 1000",
			"-kill.rounds 1000 -kill.opens 10000",
		},
	},
	{
		name: "concurrent clients", dir: here, args: "./linear -linear.seed SEED",
		level: [levels]string{
			"-linear.histories 500", "-linear.histories 3000", "-linear.histories 100000",
		},
	},
	{
		name: "databases of which everything is asked at once", dir: here,
		args: "./stress -stress.seed SEED",
		level: [levels]string{
			"-stress.for 20s", "-stress.for 2m", "-stress.for 30m -stress.retention 10s",
		},
	},
	{
		name: "a bank", dir: here, args: "./soak -soak.seed SEED",
		level: [levels]string{"-soak.for 10s", "-soak.for 1m", "-soak.for 30m"},
	},
}

// timeout is when a step is considered hung. It is immutable.
var timeout = [levels]string{"20m", "1h", "8h"}

// fuzzCount is the number of inputs for each fuzz target. It is not a duration, because go's fuzzer
// sometimes reports a deadline as a failure. It is immutable.
var fuzzCount = [levels]string{"2000x", "10000x", "1000000x"}

// arguments returns the arguments of go for a step.
func (s step) arguments(l level, seed uint64) []string {
	args := strings.Fields("test -v -count 1 -timeout " + timeout[l] + " " + s.args + " " + s.level[l])
	for i := range args {
		if args[i] == seedWord {
			args[i] = strconv.FormatUint(seed, 10)
		}
	}
	return args
}

// fuzzArguments returns the arguments of go for a fuzz target.
func fuzzArguments(pkg, target string, l level) []string {
	return []string{
		"test", "-run", "^$", "-fuzz", "^" + target + "$", "-fuzztime", fuzzCount[l],
		"-fuzzminimizetime", "10x", "-timeout", timeout[l], pkg,
	}
}
