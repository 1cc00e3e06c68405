package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// Exit codes; they are the same as those of the command stoat.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitNotFound = 3
	exitDamaged  = 4

	exitInterrupted = 130
)

// stdio is what a command reads and writes. It is not safe for concurrent use.
type stdio struct {
	in  io.Reader
	out *bufio.Writer
	err io.Writer
}

// usageError is a mistake in the arguments.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errNotFound reports that what the arguments name does not exist.
var errNotFound = errors.New("not found")

// run executes one command line, without the program's name, and returns the exit code. The end of
// the context is an interrupt.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := &stdio{stdin, bufio.NewWriter(stdout), stderr}
	err := dispatch(ctx, s, args)
	if flushErr := s.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("write the output: %w", flushErr)
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		fmt.Fprintln(stderr, "stoat-replica: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "stoat-replica: %v\n", err)
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, stoat.ErrCorrupt), errors.Is(err, replica.ErrCut):
		return exitDamaged
	case errors.Is(err, replica.ErrNotFound), errors.Is(err, errNotFound),
		errors.Is(err, stoat.ErrNotFound):
		return exitNotFound
	}
	return exitError
}

// dispatch runs the command that the first argument names.
func dispatch(ctx context.Context, s *stdio, args []string) error {
	if len(args) == 0 {
		return usagef("no command; \"stoat replica help\" lists them")
	}
	name, args := args[0], args[1:]
	if name == "-h" || name == "-help" || name == "--help" {
		name = "help"
	}
	c := lookup(name)
	if c == nil {
		return usagef("unknown command %q; \"stoat replica help\" lists all commands", name)
	}
	args, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(s.out)
		return nil
	}
	if err == nil {
		err = c.run(ctx, s, args)
	} else {
		err = usageError{err.Error()}
	}
	var usage usageError
	if errors.As(err, &usage) {
		return usagef("%s: %v; \"stoat replica help %s\" says more", c.name, err, c.name)
	}
	return err
}
