// Command bench compares Stoat with other embedded databases.
//
//	go run . [flags]       run a suite and print a table
//	go run . list          show the engines, their versions and their settings
//	go run . report FILE   print the tables of a result, with details
//
// README.md says what is measured, and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/ssb"
	"github.com/stoatdb/stoat/bench/suite"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == runner.ChildArgument:
		// The parent decides when to stop. What engines print must not disturb the answer.
		signal.Ignore(os.Interrupt)
		out := os.Stdout
		os.Stdout = os.Stderr
		return runner.Child(os.Stdin, out, findSuite)
	case command == "list":
		list(os.Stdout)
		return nil
	case command == "report" && len(args) == 2:
		return printFile(os.Stdout, args[1])
	case command != "" && !strings.HasPrefix(command, "-"):
		return errors.New("usage: bench [flags] | bench list | bench report FILE")
	}
	return measure(args)
}

func suites() []suite.Suite { return []suite.Suite{ssb.Suite()} }

func findSuite(name string) (suite.Suite, error) {
	for _, s := range suites() {
		if s.Name == name {
			return s, nil
		}
	}
	return suite.Suite{}, fmt.Errorf("no suite %q", name)
}

// choices are the flags.
type choices struct {
	suite, rows, engines, dir, json, sync, order string
	settings                                     suite.Settings
	timeout                                      time.Duration
	details                                      bool
}

func parse(args []string) (*choices, error) {
	c := new(choices)
	s := &c.settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&c.suite, "suite", "ssb", "the suite to run")
	f.StringVar(&c.rows, "op", "", "rows to measure, separated by commas (default all)")
	f.StringVar(&c.engines, "engine", "", "engines, separated by commas (default see list)")
	f.StringVar(&s.Profile, "profile", "full", "quick or full")
	f.IntVar(&s.Rounds, "rounds", 0, "fresh processes for each engine (default 5, quick 1)")
	f.IntVar(&s.Messages, "n", 100_000, "messages; ten times as many for the size in the full profile")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of the data and of the random choices")
	f.StringVar(&s.Data, "data", "messages", "data set: messages or random")
	f.StringVar(&c.order, "order", "be", "keys: be (big-endian) or le (little-endian)")
	f.StringVar(&c.sync, "sync", "always", "durability of a commit: always or never")
	f.StringVar(&c.dir, "dir", os.TempDir(), "folder for the databases, on the storage to measure")
	f.StringVar(&c.json, "json", "", "write all samples to this file")
	f.DurationVar(&c.timeout, "timeout", 15*time.Minute, "when to give up on an engine's turn")
	f.BoolVar(&c.details, "details", false, "print the distribution of the samples, too")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return c, c.complete()
}

// complete checks the flags and fills in what follows from them.
func (c *choices) complete() error {
	s := &c.settings
	rounds, ok := map[string]int{"quick": 1, "full": 5}[s.Profile]
	if !ok {
		return fmt.Errorf("no profile %q", s.Profile)
	}
	if s.Rounds == 0 {
		s.Rounds = rounds
	}
	s.Sync = c.sync == "always"
	s.Order = engine.Order(c.order)
	switch {
	case s.Rounds < 0:
		return fmt.Errorf("-rounds %d is negative", s.Rounds)
	case s.Messages < 1:
		return fmt.Errorf("-n %d is below 1", s.Messages)
	case !s.Sync && c.sync != "never":
		return fmt.Errorf("-sync %q is neither always nor never", c.sync)
	case s.Order != engine.BigEndian && s.Order != engine.LittleEndian:
		return fmt.Errorf("-order %q is neither be nor le", c.order)
	}
	if c.rows != "" {
		s.Rows = strings.Split(c.rows, ",")
	}
	return nil
}

func measure(args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	s, err := findSuite(c.suite)
	if err != nil {
		return err
	}
	if err := s.Check(c.settings); err != nil {
		return err
	}
	engines, err := engine.Select(c.engines)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := runner.Runner{
		Suite: s, Engines: engines, Settings: c.settings, Dir: c.dir, Timeout: c.timeout,
		Progress: os.Stderr,
	}
	result, failure := r.Run(ctx)
	if errors.Is(failure, context.Canceled) {
		failure = errors.New("interrupted")
	}
	if c.json != "" {
		failure = errors.Join(failure, result.Write(c.json))
	}
	result.Table(os.Stdout, s)
	if c.details {
		result.Details(os.Stdout, s)
	}
	if len(result.Failures) > 0 {
		failure = errors.Join(failure, fmt.Errorf("%d turns failed", len(result.Failures)))
	}
	return failure
}

func printFile(w io.Writer, path string) error {
	r, err := report.Read(path)
	if err != nil {
		return err
	}
	s, err := findSuite(r.Suite)
	if err != nil {
		return err
	}
	r.Table(w, s)
	r.Details(w, s)
	return nil
}

func list(w io.Writer) {
	fmt.Fprintln(w, "Engines, and every setting that is not the engine's default:")
	for _, e := range engine.All() {
		d := report.Describe([]engine.Engine{e})[0]
		extra := ""
		if e.Extra {
			extra = ", only if named"
		}
		fmt.Fprintf(w, "\n%-16s%s%s\n%-16s%s\n", d.Name, d.Version, extra, "", d.Settings)
	}
	fmt.Fprint(w, `
With -sync always each commit is durable when it returns, in every engine. With
-sync never none waits for the disk, by the engine's own option for that.
`)
	for _, s := range suites() {
		fmt.Fprintf(w, "\nSuite %s, %s:\n", s.Name, s.About)
		for _, row := range s.Rows {
			fmt.Fprintf(w, "  %-19s%s\n", row.Name, row.About)
		}
	}
}
