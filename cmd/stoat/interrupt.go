package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is the error of a command that cleaned up after an interrupt.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that the first interrupt ends, for commands that have something
// to clean up; a second interrupt ends the process. The caller must call stop.
func interruptible() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// interrupted returns an error after an interrupt.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}
