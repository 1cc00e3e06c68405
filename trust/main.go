// Command trust tries to make Stoat lose data, and counts how often it tried: power cuts and
// failing operations at every moment, damaged files, killed processes, concurrent clients, random
// histories under many settings, and fuzzed files.
//
// It runs the tests of the library and of this module with much larger numbers than usual, adds up
// what they log, and prints one table. Run it in the folder of this module:
//
//	go run . [-quick | -nightly] [-seed N] [-write FILE]
//
// FILE is relative to the repository's root. At the first loss, the command prints how to reproduce
// it and exits with code 1.
//
// A test is counted if it logs a line like t.Logf("trust: %d kills", n), a number and a noun.
// steps.go lists what runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// root is the repository's folder, relative to this module's folder, where the command runs.
const root = ".."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command and returns the exit code.
func run(ctx context.Context, args []string, out, progress io.Writer) int {
	flags := flag.NewFlagSet("trust", flag.ContinueOnError)
	flags.SetOutput(progress)
	short := flags.Bool("quick", false, "take minutes")
	long := flags.Bool("nightly", false, "take hours")
	seed := flags.Uint64("seed", 1, "random seed, at least 1")
	file := flags.String("write", "", "also put the table into this `file`, between its lines "+
		begins+" and "+ends)
	if err := flags.Parse(args); err != nil {
		return 2
	}
	r := runner{root: root, level: usual, seed: *seed, progress: progress}
	switch {
	case *short && *long || *seed == 0 || flags.NArg() > 0:
		fmt.Fprintln(progress, "usage: go run . [-quick | -nightly] [-seed N] [-write FILE]")
		return 2
	case *short:
		r.level = quick
	case *long:
		r.level = nightly
	}
	if err := r.all(ctx); err != nil {
		var l *lost
		if errors.As(err, &l) {
			fmt.Fprint(progress, l.output)
		}
		fmt.Fprintln(progress, err)
		return 1
	}
	table := r.tally.table()
	fmt.Fprint(out, table)
	if *file == "" {
		return 0
	}
	name := *file
	if !filepath.IsAbs(name) {
		name = filepath.Join(root, name)
	}
	if err := write(name, table); err != nil {
		fmt.Fprintln(progress, err)
		return 1
	}
	return 0
}
