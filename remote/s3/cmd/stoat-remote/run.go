package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
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

// stdio is what a command writes to. It is not safe for concurrent use.
type stdio struct {
	out    *bufio.Writer
	err    io.Writer
	key    []byte // of the store; nil if it is not encrypted
	dirKey []byte // of the directory; nil if it is not encrypted

	parents []string // stores, if the database is a clone: of its parent first
}

// run executes one command line, without the program's name, and returns the exit code. The end of
// the context is an interrupt.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &stdio{out: bufio.NewWriter(stdout), err: stderr}
	err := newProgram().Execute(args, s.out, func(c *command, args []string) error {
		if err := s.readKey(c); err != nil {
			return err
		}
		s.readParents(c)
		return c.Run(ctx, s, args)
	})
	if flushErr := s.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("write the output: %w", flushErr)
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		fmt.Fprintln(stderr, "stoat-remote: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "stoat-remote: %v\n", advise(err))
	return exitCode(err)
}

func exitCode(err error) int {
	var usage cmdline.UsageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, stoat.ErrCorrupt), errors.Is(err, stoat.ErrFormat),
		errors.Is(err, objstore.ErrUnfit):
		return exitDamaged
	case errors.Is(err, remote.ErrNone), errors.Is(err, remote.ErrNotKept),
		errors.Is(err, stoat.ErrNotFound),
		errors.Is(err, stoat.ErrBucketNotFound):
		return exitNotFound
	}
	return exitError
}

// jsonFlag adds the flag of commands that print JSON.
func jsonFlag(flags *flag.FlagSet) *bool {
	return flags.Bool("json", false, "print JSON, one object a line")
}

// writeJSON prints an object on a line, at once.
func writeJSON[T any](s *stdio, v T) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return s.out.Flush()
}
