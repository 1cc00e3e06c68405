package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
)

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitNotFound = 3
	exitDamaged  = 4 // or salvage has lost something

	exitInterrupted = 130 // as shells report a program that an interrupt ended
)

// usageError is a mistake in the arguments.
type usageError struct {
	message string
}

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// run executes one command line, without the program's name, and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := newStdio(stdin, stdout, stderr)
	err := dispatch(s, args)
	if flushErr := s.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("write the output: %w", flushErr)
	}
	var other *programFailed
	if errors.As(err, &other) {
		return other.code // it has reported the error
	}
	code := exitCode(err)
	if errors.Is(err, stoat.ErrCorrupt) {
		err = fmt.Errorf("%w; keep a copy of the directory, then restore a backup, load a "+
			"dump, or run \"stoat salvage DIR NEW\"", err)
	}
	if err != nil {
		fmt.Fprintf(stderr, "stoat: %v\n", err)
	}
	return code
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, stoat.ErrCorrupt), errors.Is(err, errLost),
		errors.Is(err, errNoBackup):
		return exitDamaged
	case errors.Is(err, stoat.ErrNotFound):
		return exitNotFound
	}
	return exitError
}

// dispatch runs the command that the first argument names.
func dispatch(s *stdio, args []string) error {
	if len(args) == 0 {
		return usagef("no command; \"stoat help\" lists them")
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c := lookup(name)
	if c == nil {
		return usagef("unknown command %q; \"stoat help\" lists all commands", name)
	}
	args, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(s.out)
		return nil
	}
	if err != nil {
		return usagef("%s: %v; \"stoat help %s\" says more", c.name, err, c.name)
	}
	if err := c.run(s, args); err != nil {
		var usage usageError
		if errors.As(err, &usage) {
			return usagef("%s: %v; \"stoat help %s\" says more", c.name, err, c.name)
		}
		return err
	}
	return nil
}
