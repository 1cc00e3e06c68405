package advise

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/bench/arguments"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/strategies"
	"github.com/stoatdb/stoat/bench/suite"
)

// usage is printed unless a file is given.
const usage = "usage: bench advise [flags] FILE.jsonl | bench advise [flags] -bolt FILE"

// timeout is the time limit of a child process.
const timeout = 15 * time.Minute

// choices are the checked flags.
type choices struct {
	in      input
	limits  limits
	rounds  int
	sync    bool
	storage string
	engines []string // names; empty for all but the extra ones
	json    bool
}

// Command runs the command advise. It prints the answer to stdout and its progress to stderr. If it
// cannot finish measuring, for example because ctx is done, it prints what was measured, without
// advice.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stdout)
	if err != nil {
		return err
	}
	a, err := c.answer(ctx, stderr)
	if a == nil {
		return err
	}
	if c.json {
		err = errors.Join(err, json.NewEncoder(stdout).Encode(a))
	} else {
		a.Text(stdout)
	}
	if n := len(a.Failures); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d turns failed; their errors are above", n))
	}
	return err
}

// textFlags are the flags that can only be interpreted together.
type textFlags struct{ bolt, durability, engines string }

// flags returns the flags, which set the choices and the texts.
func (c *choices) flags(t *textFlags) *flag.FlagSet {
	f := flag.NewFlagSet("bench advise", flag.ContinueOnError)
	f.StringVar(&t.bolt, "bolt", "",
		"bbolt database with the data, instead of a file of JSON lines")
	f.IntVar(&c.limits.pairs, "n", 0, "records to measure with, from the beginning of the file "+
		"(default 100000, or 256 MiB)")
	f.IntVar(&c.rounds, "rounds", 3, "fresh processes for each layout and engine")
	f.StringVar(&t.durability, "sync", "always", "commits are durable: always or never")
	f.StringVar(&c.storage, "storage", "", "directory to measure in (default that of the file)")
	f.StringVar(&t.engines, "engine", "", "engines, separated by commas (default see bench list)")
	f.BoolVar(&c.json, "json", false, "print JSON instead of tables")
	return f
}

// parse parses the flags, which may stand before and after the file. If the user asks for help, it
// prints that.
func parse(args []string, stdout io.Writer) (*choices, error) {
	c, t := new(choices), new(textFlags)
	f := c.flags(t)
	files, err := arguments.Parse(f, args, usage, stdout)
	if err != nil {
		return nil, err
	}
	if t.bolt != "" {
		files = append(files, t.bolt)
		c.in.bolt = true
	}
	if len(files) != 1 {
		return nil, errors.New(usage)
	}
	c.in.path, c.sync = files[0], t.durability == "always"
	if t.engines != "" {
		c.engines = strings.Split(t.engines, ",")
	}
	return c, c.complete(t.durability)
}

// complete checks the flags and fills in what follows from them.
func (c *choices) complete(durability string) error {
	switch {
	case durability != "always" && durability != "never":
		return fmt.Errorf("-sync %q must be always or never", durability)
	case c.rounds < 1:
		return fmt.Errorf("-rounds %d must be at least 1", c.rounds)
	case c.limits.pairs < 0:
		return fmt.Errorf("-n %d is negative", c.limits.pairs)
	case c.limits.pairs == 0:
		c.limits = limits{pairs: mostPairs, bytes: mostBytes}
	}
	if c.storage == "" {
		c.storage = filepath.Dir(c.in.path)
	}
	return nil
}

// chosen returns the engines to measure, and notes on those that cannot be measured.
func (c *choices) chosen() (engines []engine.About, notes []string, err error) {
	var known []string
	for _, e := range engine.Abouts() {
		known = append(known, e.Name)
	}
	engines, notes = engine.Choose(engine.Abouts(), c.engines)
	for _, name := range c.engines {
		if !slices.Contains(known, name) {
			return nil, nil, fmt.Errorf("no engine %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	if len(engines) == 0 {
		return nil, nil, errors.New(strings.Join(notes, "; "))
	}
	return engines, notes, nil
}

// answer measures and returns what to print; nil if nothing was measured.
func (c *choices) answer(ctx context.Context, progress io.Writer) (*answer, error) {
	engines, notes, err := c.chosen()
	if err != nil {
		return nil, err
	}
	a := &answer{Notes: notes, Machine: machine.Describe()}
	if err := c.survey(a); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.storage, 0o755); err != nil {
		return nil, fmt.Errorf("create the directory to measure in: %w", err)
	}
	a.FileSystem = machine.FileSystem(c.storage)
	a.Settings = c.settings(a.Subject.Pairs)
	err = c.measure(ctx, a, engines, progress)
	switch {
	case ctx.Err() != nil:
		a.Notes = append(a.Notes, "There is no advice, because the run was interrupted.")
		return a, errors.New("interrupted")
	case err != nil:
		a.Notes = append(a.Notes, "There is no advice, because the run failed.")
		return a, fmt.Errorf("measure in %s (-storage names another directory): %w", c.storage, err)
	}
	f := findings{
		layouts: a.Layouts, engines: a.Engines, pairs: a.Subject.Pairs, space: a.Subject.space(),
	}
	if c.in.bolt {
		f.home = "bbolt"
	}
	a.Advice = f.advice()
	return a, nil
}

// settings returns the settings for a number of pairs.
func (c *choices) settings(pairs int) suite.Settings {
	s := suite.Settings{
		Profile: suite.Quick,
		Rounds:  c.rounds,
		N:       pairs,
		Seed:    1,
		Order:   engine.BigEndian,
		Data:    dataObjects,
		Input:   c.in.path,
		Sync:    c.sync,
	}
	if c.in.bolt {
		s.Data = dataBolt
	}
	return s
}

// survey finds out what the data is. Every line must be a record; in a database, other values are
// skipped.
func (c *choices) survey(a *answer) error {
	if err := c.in.check(); err != nil {
		return err
	}
	found, err := c.in.count(c.limits)
	if err != nil {
		return err
	}
	if found.Pairs == 0 {
		return fmt.Errorf("%s has nothing to measure", c.in.path)
	}
	a.Subject = subject{File: c.in.path, extent: found, bolt: c.in.bolt}
	if found.More {
		a.Notes = append(a.Notes, fmt.Sprintf("The file has more: these are the first %s; -n "+
			"changes that.", report.Count(float64(found.Pairs))))
	}
	if found.Buckets > 1 {
		a.Notes = append(a.Notes, fmt.Sprintf("Each key is measured with a prefix of %d bytes that "+
			"tells the buckets apart.", bucketBytes))
	}
	data, records, err := c.in.records(found)
	switch {
	case err == nil:
		a.Subject.Records = records
		a.Subject.Fields, a.Subject.Sum, a.Subject.Update = data.Fields()
	case !c.in.bolt:
		return fmt.Errorf("%s: %w; it must have one JSON object per line", c.in.path, err)
	default:
		a.Notes = append(a.Notes, fmt.Sprintf("No layouts are compared, because the values are not all "+
			"comparable JSON objects: %v.", err))
	}
	return nil
}

// measure measures the layouts on the engines that support them, and the engines.
func (c *choices) measure(
	ctx context.Context, a *answer, engines []engine.About, progress io.Writer,
) error {
	nested := slices.DeleteFunc(slices.Clone(engines), func(e engine.About) bool {
		return !slices.ContainsFunc(strategies.Suite().Engines(), func(other engine.About) bool {
			return other.Name == e.Name
		})
	})
	switch {
	case a.Subject.Records == 0:
	case len(nested) == 0:
		a.Notes = append(a.Notes, "No layouts are compared, because none of the engines has "+
			"nested buckets; -engine stoat has.")
	default:
		r, err := c.run(ctx, a, nested, layoutRows(), progress)
		a.Layouts = layoutTables(r, a.Subject.Records, a.Subject.space())
		if err != nil {
			return err
		}
	}
	r, err := c.run(ctx, a, engines, valueRows(), progress)
	a.Engines = engineTable(r, a.Subject.space())
	return err
}

// run measures some rows on some engines.
func (c *choices) run(
	ctx context.Context, a *answer, engines []engine.About, rows []string, progress io.Writer,
) (*report.Result, error) {
	settings := a.Settings
	settings.Rows = rows
	result := &report.Result{Suite: Name, Settings: settings, Engines: report.Describe(engines)}
	r := runner.Runner{
		Suite: Suite(), Engines: engines, Settings: settings, Dir: c.storage, Timeout: timeout,
		Progress: progress,
		Note:     func(text string) { a.Notes = append(a.Notes, text) },
	}
	err := r.Run(ctx, result)
	a.Failures = append(a.Failures, result.Failures...)
	return result, err
}
