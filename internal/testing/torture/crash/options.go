package crash

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// Options are what the flags -crash.points, -crash.seed and -crash.only say. They do not change
// once the flags are parsed.
type Options struct {
	Seed uint64 // of the workloads and of what a crash keeps
	Only string // the one crash to make, as workload/operation/kept; all are made if empty

	points int // to make
	short  int // by what they are divided in short tests
}

// Flags registers the flags and returns what they will say. There are so many crash points unless
// -crash.points says otherwise, and in short tests so many times fewer.
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

// Chosen reports whether crashes of the workload are to be made.
func (o *Options) Chosen(workload string) bool {
	only, _, _ := strings.Cut(o.Only, "/")
	return only == "" || only == workload
}

// Sample returns the sample that has about so many of the crashes at this many operations.
func (o *Options) Sample(points, operations int) Sample {
	kinds := max(3, points/operations)
	share := float64(points) / float64(operations*kinds)
	if _, random, found := strings.Cut(o.Only, "/random-"); found {
		if n, err := strconv.Atoi(random); err == nil {
			kinds = max(kinds, n+1) // whoever makes it again need not say how many there were
		}
	}
	return Sample{Seed: o.Seed, Kinds: kinds, Share: share, Only: o.Only}
}

// Again returns the command that runs one test of the package in the folder again, and no other. A
// subtest is named as t.Name does.
func (o *Options) Again(folder, test string) string {
	return fmt.Sprintf("go test %s -run '^%s$' -crash.seed %d", folder,
		strings.ReplaceAll(test, "/", "$/^"), o.Seed)
}
