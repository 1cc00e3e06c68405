package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
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

// errNotFound reports that what the arguments name does not exist.
var errNotFound = errors.New("not found")

// run executes one command line, without the program's name, and returns the exit code. The end of
// the context is an interrupt.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := &stdio{stdin, bufio.NewWriter(stdout), stderr}
	err := newProgram().Execute(args, s.out, func(c *command, args []string) error {
		return c.Run(ctx, s, args)
	})
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
	var usage cmdline.UsageError
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
