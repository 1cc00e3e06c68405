// Command stoat-studio shows a Stoat database in the browser. It is a program of a module of its
// own; "stoat studio" runs it.
//
// It listens on the loopback interface only, prints an address with a one-time token, and prints
// another one for each line that it reads. Without -write it opens the database read-only, which
// takes no lock, and opens it again as others write it. The work is done by package studio.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes; they are the same as those of the command stoat.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const usage = `stoat-studio shows a Stoat database in the browser.

usage: stoat-studio [flags] DB

It prints an address to open in a browser on this machine, which works once;
each press of Enter prints a new one. An interrupt ends it. Without -write, it
changes nothing, and other processes may use the database meanwhile.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are those of one command line.
type options struct {
	flags   *flag.FlagSet
	write   bool
	listen  string
	keyFile string // the file of the database's key; may be empty
	db      string
}

// parse reads a command line, whose flags may stand before and after the database. The options are
// valid even if it returns an error.
func parse(args []string) (*options, error) {
	o := &options{flags: flag.NewFlagSet("", flag.ContinueOnError)}
	o.flags.SetOutput(io.Discard)
	o.flags.BoolVar(&o.write, "write", false,
		"let the page put and delete keys; no other process can write meanwhile")
	o.flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "the loopback `ADDRESS` to listen at")
	o.flags.StringVar(&o.keyFile, "key-file", "",
		"`FILE` has the key of the database, in hex or binary")
	var names []string
	for {
		if err := o.flags.Parse(args); err != nil {
			return o, err
		}
		if o.flags.NArg() == 0 {
			break
		}
		names, args = append(names, o.flags.Arg(0)), o.flags.Args()[1:]
	}
	if len(names) != 1 || names[0] == "" {
		return o, errors.New("give the name of one database")
	}
	o.db = names[0]
	return o, nil
}

// run executes one command line, without the program's name, and returns the exit code. The end of
// the context is an interrupt.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		o.flags.SetOutput(stdout)
		o.flags.PrintDefaults()
		return exitOK
	}
	var l *loopback
	if err == nil {
		l, err = parseListen(o.listen)
	}
	if err != nil {
		fmt.Fprintf(stderr, "stoat-studio: %v; run stoat-studio -help\n", err)
		return exitUsage
	}
	if err := show(ctx, o, l, stdin, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "stoat-studio: %v\n", err)
		return exitError
	}
	return exitOK
}
