// Command stoat-replica creates, syncs and inspects the spaces of package replica. It is a program
// of its own module, because the library does without the libraries of replication; "stoat replica"
// runs it.
//
// Each subcommand has a file named after it; each of the other files holds one noun that several
// subcommands share. A subcommand is a [command] value, built for each run, so run can be called
// any number of times, even concurrently. It needs no program's types: it works on any database
// with spaces.
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
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
