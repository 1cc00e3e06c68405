package main

import (
	"context"
	"flag"
	"fmt"
	"io"
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

	flags *flag.FlagSet
	run   func(ctx context.Context, s *stdio, args []string) error
}

// commands returns all commands in the order in which help lists them.
func commands() []*command {
	return []*command{
		deviceCommand(), createCommand(), joinCommand(), grantCommand(), revokeCommand(),
		endorseCommand(), grantsCommand(),
		serveCommand(), syncCommand(), exportCommand(), importCommand(),
		statusCommand(), headsCommand(), logCommand(), graphCommand(),
		whyCommand(), conflictsCommand(), voidCommand(), adoptCommand(),
		verifyCommand(), checkpointCommand(), pruneCommand(),
		helpCommand(),
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
// them. Everything after "--" is an argument, and so is a lone "-".
func (c *command) parse(args []string) (positional []string, err error) {
	for len(args) > 0 {
		if arg := args[0]; len(arg) < 2 || arg[0] != '-' {
			positional, args = append(positional, arg), args[1:]
			continue
		}
		if args[0] == "--" {
			positional = append(positional, args[1:]...)
			break
		}
		if err := c.flags.Parse(args); err != nil {
			return nil, err
		}
		args = c.flags.Args()
	}
	if n := len(positional); n < c.min || n > c.max {
		return nil, fmt.Errorf("%s, usage: %s", progress.Counted(int64(n), "argument"), c.usage())
	}
	return positional, nil
}

// usage returns the form of the command line.
func (c *command) usage() string {
	parts := []string{"stoat replica", c.name}
	c.flags.VisitAll(func(*flag.Flag) {
		if len(parts) == 2 {
			parts = append(parts, "[flags]")
		}
	})
	return strings.TrimSpace(strings.Join(append(parts, c.arguments), " "))
}

// help writes the full help of the command.
func (c *command) help(w io.Writer) {
	fmt.Fprintf(w, "stoat replica %s - %s\n\nusage: %s\n", c.name, c.summary, c.usage())
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

func helpCommand() *command {
	return &command{
		name: "help", arguments: "[COMMAND]", summary: "list the commands, or explain one", max: 1,
		flags: newFlags(),
		run: func(_ context.Context, s *stdio, args []string) error {
			if len(args) == 0 {
				overview(s)
				return nil
			}
			c := lookup(args[0])
			if c == nil {
				return usagef("there is no command %q", args[0])
			}
			c.help(s.out)
			return nil
		},
	}
}

// overview lists the commands.
func overview(s *stdio) {
	fmt.Fprint(s.out, `A space is collections of records that devices share: each changes its replica
offline, and what they wrote comes together when they meet.

usage: stoat replica COMMAND [flags] [arguments]

`)
	for _, c := range commands() {
		fmt.Fprintf(s.out, "  %-10s  %s\n", c.name, c.summary)
	}
	fmt.Fprint(s.out, `
DB is the directory of a database. Commands that only read can run while another
process has it open. A database with one space needs no -space. In arguments,
the first digits of a log's id are enough.

"stoat replica help COMMAND" says more. Exit codes: 0 success, 1 error, 2 wrong
arguments, 3 not found, 4 damaged, 130 interrupted.
`)
}
