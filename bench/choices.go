package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat/bench/arguments"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/ssb"
	"github.com/stoatdb/stoat/bench/suite"
)

// choices are the checked flags.
type choices struct {
	suites   []suite.Suite
	engines  []string // names; empty for all but the extra ones
	places   []place  // those named; otherwise prepare makes one of out
	syncs    []bool
	programs []external.Program
	settings suite.Settings // common to all results
	out      string
	timeout  time.Duration
	json     bool
	details  bool
}

// place is a folder on a storage to measure.
type place struct{ name, dir string }

// textFlags are the flags that can only be interpreted together.
type textFlags struct{ suites, rows, engines, order, durability, storage string }

// leastMemory is the smallest limit of memory in which every engine can run.
const leastMemory = 64 << 20

// parse parses the flags.
func parse(args []string) (*choices, error) {
	c, t := new(choices), new(textFlags)
	f := c.flags(t)
	operands, err := arguments.Parse(f, args, usage, os.Stdout)
	if err != nil {
		return nil, err
	}
	if len(operands) > 0 {
		return nil, fmt.Errorf("unexpected argument %q; %s", operands[0], usage)
	}
	c.settings.Rows, c.engines = split(t.rows), split(t.engines)
	if err := c.complete(t.order); err != nil {
		return nil, err
	}
	if err := c.chooseSync(t.durability); err != nil {
		return nil, err
	}
	if err := c.choosePlaces(t.storage); err != nil {
		return nil, err
	}
	if err := c.chooseSuites(split(t.suites)); err != nil {
		return nil, err
	}
	return c, c.anyEngine()
}

// flags returns the flags, which set the choices and the texts.
func (c *choices) flags(t *textFlags) *flag.FlagSet {
	s := &c.settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&t.suites, "suite", "", "suites to run, separated by commas (default all)")
	f.StringVar(&t.rows, "op", "", "rows to measure, separated by commas (default all)")
	f.StringVar(&t.engines, "engine", "", "engines, separated by commas (default see list)")
	f.Func("external", "an external program as an engine, as NAME=COMMAND; repeatable", c.addProgram)
	f.StringVar(&s.Profile, "profile", suite.Quick, "quick, full or large")
	f.IntVar(&s.Rounds, "rounds", 0, "fresh processes for each engine (default 5, quick 1)")
	f.IntVar(&s.N, "n", 0, "entries, instead of the profile's number")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of the data and of the random choices")
	f.StringVar(&s.Data, "data", "",
		"data set of the suites ssb (messages, random) and docs (all, json, …)")
	f.StringVar(&t.order, "order", "be",
		"keys of the suite ssb: be (big-endian) or le (little-endian)")
	f.BoolVar(&s.Turns, "turns", false,
		"suite ssb: also read with all engines taking turns in one process")
	f.Func("memory", "memory of each process of the suites ssb and growth, as 1GiB (default all)",
		func(text string) (err error) {
			s.Memory, err = parseBytes(text)
			return err
		})
	f.StringVar(&t.durability, "sync", "always", "commits are durable: always, never or both")
	f.StringVar(&t.storage, "storage", "",
		"directories to measure in, as NAME=DIR,NAME=DIR (default -out)")
	f.StringVar(&c.out, "out", "out", "directory for report.html and results.json, .csv and .txt")
	f.DurationVar(&c.timeout, "timeout", 0,
		"time limit of an engine's turn (default 3h, quick 15m)")
	f.BoolVar(&c.json, "json", false, "print results.json instead of tables")
	f.BoolVar(&c.details, "details", false, "also print the distribution of the samples")
	return f
}

// parseBytes parses a size in bytes, which may end in KiB, MiB or GiB.
func parseBytes(text string) (int64, error) {
	number, factor := text, int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			number, factor = rest, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size such as 1GiB", text)
	}
	return n * factor, nil
}

// addProgram adds an external engine.
func (c *choices) addProgram(text string) error {
	p, err := external.Parse(text)
	if err != nil {
		return err
	}
	for _, s := range suites() {
		if slices.ContainsFunc(s.Engines(), func(e engine.About) bool { return e.Name == p.Name }) {
			return fmt.Errorf("%s is the name of a built-in engine; choose another",
				p.Name)
		}
	}
	if slices.ContainsFunc(c.programs, func(o external.Program) bool { return o.Name == p.Name }) {
		return fmt.Errorf("two external engines are named %s", p.Name)
	}
	c.programs = append(c.programs, p)
	return nil
}

// plan returns what external engines do in a suite, or nil if nothing.
func plan(s suite.Suite) external.Plan {
	return map[string]external.Plan{"ssb": ssb.External}[s.Name]
}

// split splits a list at its commas; an empty list has no parts.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// complete checks the settings and fills in what follows from them.
func (c *choices) complete(order string) error {
	s := &c.settings
	rounds, ok := map[string]int{suite.Quick: 1, suite.Full: 5, suite.Large: 1}[s.Profile]
	if !ok {
		return fmt.Errorf("-profile %q must be quick, full or large", s.Profile)
	}
	if s.Rounds == 0 {
		s.Rounds = rounds
	}
	if c.timeout == 0 {
		c.timeout = 3 * time.Hour
		if s.Profile == suite.Quick {
			c.timeout = 15 * time.Minute
		}
	}
	s.Order = engine.Order(order)
	switch {
	case s.Rounds < 0:
		return fmt.Errorf("-rounds %d is negative", s.Rounds)
	case s.N < 0:
		return fmt.Errorf("-n %d is negative", s.N)
	case s.Order != engine.BigEndian && s.Order != engine.LittleEndian:
		return fmt.Errorf("-order %q must be be or le", order)
	case s.Memory == 0:
		return nil
	case s.Memory < leastMemory:
		return fmt.Errorf("-memory %d is less than %d MiB", s.Memory, leastMemory>>20)
	case s.Turns:
		return errors.New("-memory limits processes of one engine, which -turns does not have")
	case s.Profile == suite.Large:
		return errors.New("-memory and -profile large both limit memory; give one of them")
	case len(c.programs) > 0:
		return errors.New("-memory does not limit external programs")
	}
	if err := machine.CheckCap(); err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	return nil
}

func (c *choices) chooseSync(durability string) error {
	c.syncs = map[string][]bool{
		"always": {true}, "never": {false}, "both": {true, false},
	}[durability]
	if c.syncs == nil {
		return fmt.Errorf("-sync %q must be always, never or both", durability)
	}
	return nil
}

func (c *choices) choosePlaces(storage string) error {
	for _, part := range split(storage) {
		name, dir, ok := strings.Cut(part, "=")
		if !ok {
			name, dir = "", part
		}
		if dir == "" {
			return fmt.Errorf("-storage %q is not NAME=DIR", part)
		}
		if slices.ContainsFunc(c.places, func(p place) bool { return p.name == name }) {
			return fmt.Errorf("-storage has two places named %q", name)
		}
		c.places = append(c.places, place{name, dir})
	}
	return nil
}

// chooseSuites takes the named suites that have any of the wanted rows and engines. A row or engine
// that none of them has is an error.
func (c *choices) chooseSuites(names []string) error {
	chosen := suites()
	if names != nil {
		chosen = nil
		for _, name := range names {
			s, err := findSuite(name)
			if err != nil {
				return err
			}
			chosen = append(chosen, s)
		}
	}
	if data := c.settings.Data; data != "" {
		chosen = slices.DeleteFunc(chosen, func(s suite.Suite) bool {
			return len(s.Data) == 0 || names == nil && !slices.Contains(s.Data, data)
		})
		if len(chosen) == 0 {
			return fmt.Errorf("-data %q: none of the suites has this data set", data)
		}
	}
	if chosen = c.able(chosen); len(chosen) == 0 {
		return errors.New("-turns needs the suite ssb, and -memory needs ssb or growth")
	}
	var rows, engines []string
	for _, s := range chosen {
		var has []string
		for _, row := range s.Rows {
			has = append(has, row.Name)
		}
		rows = append(rows, has...)
		for _, e := range c.all(s) {
			engines = append(engines, e.Name)
		}
		if err := s.Check(suite.Settings{Data: c.settings.Data}); err != nil {
			return err
		}
		if c.settings.Rows == nil || intersect(has, c.settings.Rows) {
			c.suites = append(c.suites, s)
		}
	}
	if err := allKnown("row", c.settings.Rows, rows); err != nil {
		return err
	}
	return allKnown("engine", c.engines, engines)
}

// able returns the suites that can do what -turns and -memory ask for.
func (c *choices) able(chosen []suite.Suite) []suite.Suite {
	return slices.DeleteFunc(slices.Clone(chosen), func(s suite.Suite) bool {
		return c.settings.Turns && s.RunTogether == nil || c.settings.Memory > 0 && !s.Capped
	})
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// allKnown returns an error that lists the known names, unless all names are known.
func allKnown(what string, names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			known = slices.Compact(known)
			return fmt.Errorf("no %s %q; there are %s", what, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// all returns the engines of a suite, with the external ones if it has work for them.
func (c *choices) all(s suite.Suite) []engine.About {
	engines := s.Engines()
	if plan(s) != nil {
		for _, p := range c.programs {
			engines = append(engines, p.About())
		}
	}
	return engines
}

// anyEngine returns an error that says why nothing can be measured, unless something can.
func (c *choices) anyEngine() error {
	var missing, unknown []string
	for _, s := range c.suites {
		engines, notes := c.enginesOf(s)
		if len(engines) > 0 {
			return nil
		}
		missing = append(missing, notes...)
		names := strings.Join(c.engines, ", ")
		unknown = append(unknown, fmt.Sprintf("suite %s has no engine %s", s.Name, names))
	}
	if len(missing) == 0 {
		missing = unknown
	}
	slices.Sort(missing)
	return fmt.Errorf("nothing can be measured: %s", strings.Join(slices.Compact(missing), "; "))
}

// enginesOf returns the engines to measure in a suite, and notes on those that cannot be measured.
func (c *choices) enginesOf(s suite.Suite) (engines []engine.About, notes []string) {
	engines, notes = engine.Choose(c.all(s), c.engines)
	for _, p := range c.programs {
		if plan(s) == nil {
			notes = append(notes, fmt.Sprintf(
				"%s is not measured in suite %s, which has no work for external programs.", p.Name, s.Name))
		}
	}
	return engines, notes
}
