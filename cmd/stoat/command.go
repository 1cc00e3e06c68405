package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// command is one subcommand: what help says about it, its flags, and what it does.
type command struct {
	name      string
	arguments string // as help shows them: "DB KEY"
	summary   string // one line
	details   string // what else help says
	min, max  int    // how many arguments there may be, flags aside
	hidden    bool   // help does not list it
	whole     bool   // flags and arguments are for another program: see parse

	flags *flag.FlagSet
	run   func(s *stdio, args []string) error
}

// unlimited is the maximum of a command that takes any number of arguments.
const unlimited = math.MaxInt

// commands returns all commands in the order in which help lists them.
func commands() []*command {
	return []*command{
		getCommand(), putCommand(), delCommand(), ttlCommand(),
		scanCommand(), keysCommand(), bucketsCommand(), statsCommand(),
		dumpCommand(), loadCommand(), bulkLoadCommand(), importCommand(), exportCommand(),
		compactCommand(),
		checkCommand(), backupCommand(), restoreCommand(), salvageCommand(), recordCommand(),
		dumpFileCommand(),
		shellCommand(), replicaCommand(), tourCommand(), tourWriterCommand(), commandListCommand(),
		helpCommand(), versionCommand(),
	}
}

// lookup returns the command of that name, or nil.
func lookup(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// newFlags returns an empty set of flags that leaves printing to the caller.
func newFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse sets the flags and returns the other arguments, which may stand before, between and after
// them. Everything after "--" is an argument, and so is a lone "-". The flags of a whole command
// are arguments, too, unless the first asks for help.
func (c *command) parse(args []string) (positional []string, err error) {
	if c.whole && len(args) > 0 && !errors.Is(c.flags.Parse(args[:1]), flag.ErrHelp) {
		return args, nil
	}
	var flags []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			positional = append(positional, args...)
			args = nil
		case len(arg) < 2 || arg[0] != '-':
			positional = append(positional, arg)
		case len(args) > 0 && c.takesNext(arg):
			flags = append(flags, arg, args[0])
			args = args[1:]
		default:
			flags = append(flags, arg)
		}
	}
	if err := c.flags.Parse(flags); err != nil {
		if strings.Contains(err.Error(), "not defined") {
			err = fmt.Errorf("%w (write -- before arguments that start with a dash)", err)
		}
		return nil, err
	}
	if n := len(positional); n < c.min || n > c.max {
		return nil, fmt.Errorf("%s, usage: %s", progress.Counted(int64(n), "argument"), c.usage())
	}
	return positional, nil
}

// takesNext reports whether the argument after this one is the flag's value.
func (c *command) takesNext(arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	f := c.flags.Lookup(name)
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// usage returns the form of the command line.
func (c *command) usage() string {
	parts := []string{"stoat", c.name}
	c.flags.VisitAll(func(*flag.Flag) {
		if len(parts) == 2 {
			parts = append(parts, "[flags]")
		}
	})
	return strings.TrimSpace(strings.Join(append(parts, c.arguments), " "))
}

// help writes the full help of the command.
func (c *command) help(w io.Writer) {
	fmt.Fprintf(w, "stoat %s - %s\n\nusage: %s\n", c.name, c.summary, c.usage())
	if c.details != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.details))
	}
	var rows [][2]string
	width := 0
	c.flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		left := strings.TrimSpace("-" + f.Name + " " + value)
		width = max(width, len(left))
		rows = append(rows, [2]string{left, usage})
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "\nflags, before or after the arguments:\n")
	for _, row := range rows {
		fmt.Fprintf(w, "  %-*s  %s\n", width, row[0], row[1])
	}
}
