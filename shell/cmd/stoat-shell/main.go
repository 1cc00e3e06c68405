// Command stoat-shell is an interactive shell for a Stoat database: a prompt with a history and
// completion of commands, buckets and keys. It is a separate program and module, so the library
// needs no line editor; "stoat shell" runs it.
//
// Each line is a command of the program stoat, which does the work: the shell knows only the
// database and the current bucket, and adds both. It therefore holds no lock while it waits for a
// line.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"
)

// Exit codes; they are the same as those of the command stoat.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const usage = `stoat-shell is an interactive shell for a Stoat database.

usage: stoat-shell [flags] DB

A line is a command of the program stoat without the database: "get KEY",
"scan -prefix a". Quote words with spaces, 'literally' or "with\tescapes".
"cd PATH" changes the bucket that commands use; "help" lists the commands.
Tab completes commands, flags, buckets and keys. Without a terminal, lines come
from standard input, and the first failure ends the shell with its exit code.

flags:
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are those of one command line.
type options struct {
	flags   *flag.FlagSet
	program string // that runs the commands
	history string // the file of earlier lines; may be empty
	keyFile string // the file of the database's key; may be empty
	db      string
}

// parse reads a command line. The options are valid even if it returns an error.
func parse(args []string) (*options, error) {
	o := &options{flags: flag.NewFlagSet("", flag.ContinueOnError)}
	o.flags.SetOutput(io.Discard)
	o.flags.StringVar(&o.program, "stoat", "stoat", "the `PROGRAM` that runs the commands")
	o.flags.StringVar(&o.history, "history", defaultHistory(),
		"keep earlier lines in `FILE`; empty to keep none")
	o.flags.StringVar(&o.keyFile, "key-file", "", "`FILE` has the key of the database")
	if err := o.flags.Parse(args); err != nil {
		return o, err
	}
	if o.flags.NArg() != 1 || o.flags.Arg(0) == "" {
		return o, errors.New("give the name of one database")
	}
	o.db = o.flags.Arg(0)
	return o, nil
}

// defaultHistory returns the file that keeps earlier lines, or an empty name if there is no place
// for one.
func defaultHistory() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "stoat", "history")
}

// run executes one command line, without the program's name, and returns the exit code.
func run(args []string, stdin, stdout, stderr *os.File) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		o.flags.SetOutput(stdout)
		o.flags.PrintDefaults()
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "stoat-shell: %v; run stoat-shell -help\n", err)
		return exitUsage
	}
	catalog, err := loadCatalog(o.program)
	if err != nil {
		fmt.Fprintf(stderr, "stoat-shell: %v\n", err)
		return exitError
	}
	s := &shell{
		db: o.db, keyFile: o.keyFile, catalog: catalog, out: stdout, err: stderr,
		execute: (&program{o.program, stdin, stdout, stderr}).run,
	}
	if !term.IsTerminal(int(stdin.Fd())) || !term.IsTerminal(int(stdout.Fd())) {
		return s.script(stdin)
	}
	history, err := openHistory(o.history)
	if err != nil {
		fmt.Fprintf(stderr, "stoat-shell: lines are not kept: %v\n", err)
	}
	defer history.close()
	return s.converse(&prompt{in: stdin, out: stdout, history: history})
}
