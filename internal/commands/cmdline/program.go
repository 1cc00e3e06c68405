// Package cmdline is the frame of programs that consist of subcommands: it finds the command of a
// line, parses its flags, and prints the help. Nothing here runs a command, opens files, or exits.
package cmdline

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Program is a command line with subcommands.
type Program[R any] struct {
	Name     string // as a user types it: "stoat replica"
	Commands func() []*Command[R]
	Intro    string // what help says before the commands
	Outro    string // and after them, such as the exit codes
}

// UsageError is a mistake in the arguments.
type UsageError struct{ message string }

// Error returns what is wrong.
func (e UsageError) Error() string { return e.message }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

// Lookup returns the command of that name, or nil.
func (p *Program[R]) Lookup(name string) *Command[R] {
	for _, c := range p.Commands() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Execute finds the command that the first argument names and calls run with it and with its
// arguments, flags aside, or writes its help to out.
func (p *Program[R]) Execute(
	args []string, out io.Writer, run func(c *Command[R], args []string) error,
) error {
	if len(args) == 0 {
		return Usagef("no command; \"%s help\" lists them", p.Name)
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c := p.Lookup(name)
	if c == nil {
		return Usagef("unknown command %q; \"%s help\" lists all commands", name, p.Name)
	}
	args, err := c.parse(p.Name, args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(out, p.Name)
		return nil
	}
	if err == nil {
		err = run(c, args)
	} else {
		err = UsageError{err.Error()}
	}
	var usage UsageError
	if errors.As(err, &usage) {
		return Usagef("%s: %v; \"%s help %s\" says more", c.Name, err, p.Name, c.Name)
	}
	return err
}

// Help writes what the program is and its commands, or the help of the command that args names.
func (p *Program[R]) Help(out io.Writer, args []string) error {
	if len(args) == 0 {
		return p.overview(out)
	}
	c := p.Lookup(args[0])
	if c == nil {
		return Usagef("there is no command %q", args[0])
	}
	c.help(out, p.Name)
	return nil
}

// overview lists the commands.
func (p *Program[R]) overview(w io.Writer) error {
	var listed []*Command[R]
	width := 0
	for _, c := range p.Commands() {
		if !c.Hidden {
			listed = append(listed, c)
			width = max(width, len(c.Name))
		}
	}
	fmt.Fprintf(w, "%s\n\nusage: %s COMMAND [flags] [arguments]\n\n", p.Intro, p.Name)
	for _, c := range listed {
		fmt.Fprintf(w, "  %-*s  %s\n", width, c.Name, c.Summary)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", p.Outro)
	return err
}
