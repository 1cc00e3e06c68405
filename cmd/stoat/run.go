package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/corrupt"
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

// run executes one command line, without the program's name, and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := newStdio(stdin, stdout, stderr)
	err := newProgram().Execute(args, s.out, func(c *command, args []string) error {
		if err := s.readKey(c); err != nil {
			return err
		}
		return c.Run(s, args)
	})
	if flushErr := s.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("write the output: %w", flushErr)
	}
	var other *programFailed
	if errors.As(err, &other) {
		return other.code // it has reported the error
	}
	code := exitCode(err)
	switch {
	case !errors.Is(err, stoat.ErrCorrupt) || errors.Is(err, corrupt.ErrElsewhere):
	case s.shipped:
		err = fmt.Errorf("%w; the directory is shipped to object storage, which may have what is "+
			"missing here: use \"stoat remote get\" or \"stoat remote restore\"", err)
	default:
		err = fmt.Errorf("%w; keep a copy of the directory, then restore a backup, load a "+
			"dump, or run \"stoat salvage DIR NEW\"", err)
	}
	if err != nil {
		fmt.Fprintf(stderr, "stoat: %v\n", err)
	}
	return code
}

func exitCode(err error) int {
	var usage cmdline.UsageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, stoat.ErrCorrupt), errors.Is(err, corrupt.ErrElsewhere),
		errors.Is(err, errLost), errors.Is(err, errNoBackup):
		return exitDamaged
	case errors.Is(err, stoat.ErrNotFound):
		return exitNotFound
	}
	return exitError
}
