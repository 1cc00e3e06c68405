// Command stoat-remote works with databases in object storage, which package remote keeps there. It
// is a program of its own module, because the library does without a client of S3; "stoat remote"
// runs it.
//
// Each subcommand has a file named after it; each of the other files holds one noun that several
// subcommands share. A subcommand is a [command] value, built for each run, so run can be called
// any number of times, even concurrently. The package uses only the public API of the library.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
