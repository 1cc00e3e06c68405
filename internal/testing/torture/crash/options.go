package crash

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// Options are the flags -crash.points, -crash.seed and -crash.only. They do not change after
// parsing.
type Options struct {
	Seed uint64 // of workloads and of what crashes keep
	Only string // the one crash to make, as workload/operation/kept; all if empty

	points int // to make
	short  int // divides points in short tests
}

// Flags registers the flags and returns their values. The default of -crash.points is points,
// divided by short in short tests.
func Flags(points, short int) *Options {
	o := &Options{short: short}
	flag.IntVar(&o.points, "crash.points", points,
		"about how many crashes a test makes at operations; those of what they leave come on top")
	flag.Uint64Var(&o.Seed, "crash.seed", 1, "seed of the workloads and of what a crash keeps")
	flag.StringVar(&o.Only, "crash.only", "", "the one crash to make, as workload/operation/kept")
	return o
}

// Points returns how many crashes to make.
func (o *Options) Points(short bool) int {
	if short {
		return o.points / o.short
	}
	return o.points
}

// Chosen reports whether to crash the workload.
func (o *Options) Chosen(workload string) bool {
	only, _, _ := strings.Cut(o.Only, "/")
	return only == "" || only == workload
}

// Sample returns a sample of about so many crashes at so many operations.
func (o *Options) Sample(points, operations int) Sample {
	kinds := max(3, points/operations)
	share := float64(points) / float64(operations*kinds)
	if _, random, found := strings.Cut(o.Only, "/random-"); found {
		if n, err := strconv.Atoi(random); err == nil {
			kinds = max(kinds, n+1) // repeating a crash does not need -crash.points
		}
	}
	return Sample{Seed: o.Seed, Kinds: kinds, Share: share, Only: o.Only}
}

// Again returns the command that repeats one test of the package in the folder. A subtest has the
// name that t.Name returns.
func (o *Options) Again(folder, test string) string {
	return fmt.Sprintf("go test %s -run '^%s$' -crash.seed %d", folder,
		strings.ReplaceAll(test, "/", "$/^"), o.Seed)
}
