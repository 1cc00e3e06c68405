package cmdline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// Command is one subcommand: what help says about it, its flags, and Run, the function that does
// its work, whose type is for the program to choose. It is not safe for concurrent use.
type Command[R any] struct {
	Name      string
	Arguments string // as help shows them: "DB KEY"
	Summary   string // one line
	Details   string // what else help says
	Min, Max  int    // how many arguments there may be, flags aside
	Hidden    bool   // help does not list it
	Whole     bool   // flags and arguments are for another program: see parse

	Flags *flag.FlagSet
	Run   R
}

// Unlimited is the maximum of a command that takes any number of arguments.
const Unlimited = math.MaxInt

// NewFlags returns an empty set of flags that leaves printing to the caller.
func NewFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse sets the flags and returns the other arguments, which may stand before, between and after
// them. Everything after "--" is an argument, and so is a lone "-". The flags of a whole command
// are arguments, too, unless the first asks for help.
func (c *Command[R]) parse(program string, args []string) (positional []string, err error) {
	if c.Whole && len(args) > 0 && !errors.Is(c.Flags.Parse(args[:1]), flag.ErrHelp) {
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
		case len(args) > 0 && c.TakesValue(arg):
			flags = append(flags, arg, args[0])
			args = args[1:]
		default:
			flags = append(flags, arg)
		}
	}
	if err := c.Flags.Parse(flags); err != nil {
		if strings.Contains(err.Error(), "not defined") {
			err = fmt.Errorf("%w (write -- before arguments that start with a dash)", err)
		}
		return nil, err
	}
	if n := len(positional); n < c.Min || n > c.Max {
		return nil, fmt.Errorf("%s, usage: %s",
			progress.Counted(int64(n), "argument"), c.usage(program))
	}
	return positional, nil
}

// TakesValue reports whether the argument after this one, a flag with its dash, is its value.
func (c *Command[R]) TakesValue(arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	f := c.Flags.Lookup(name)
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// usage returns the form of the command line.
func (c *Command[R]) usage(program string) string {
	line := program + " " + c.Name
	if c.flagged() {
		line += " [flags]"
	}
	return strings.TrimSpace(line + " " + c.Arguments)
}

// flagged reports whether the command has flags.
func (c *Command[R]) flagged() bool {
	any := false
	c.Flags.VisitAll(func(*flag.Flag) { any = true })
	return any
}

// help writes the full help of the command.
func (c *Command[R]) help(w io.Writer, program string) {
	fmt.Fprintf(w, "%s %s - %s\n\nusage: %s\n", program, c.Name, c.Summary, c.usage(program))
	if c.Details != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Details))
	}
	if !c.flagged() {
		return
	}
	var rows [][2]string
	width := 0
	c.Flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		left := strings.TrimSpace("-" + f.Name + " " + value)
		width = max(width, len(left))
		rows = append(rows, [2]string{left, usage})
	})
	fmt.Fprint(w, "\nflags, before or after the arguments:\n")
	for _, row := range rows {
		fmt.Fprintf(w, "  %-*s  %s\n", width, row[0], row[1])
	}
}
