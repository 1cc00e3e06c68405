// Command stoat-import imports databases of bbolt, Badger and SQLite into Stoat. It is a program,
// and a module, of its own so that none of their libraries is needed by those who do not import;
// "stoat import" runs it.
//
// An import is an [intake.Job]: it writes bounded transactions and can go on after an interrupt.
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
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// Exit codes, which are those of the command stoat.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2
	exitDamaged = 4

	exitInterrupted = 130
)

const usage = `stoat-import imports a database of another library into a Stoat database.

usage: stoat-import -bolt FILE DB
       stoat-import -badger DIR DB
       stoat-import -sqlite FILE DB

The source must not be open in another process, and is not changed. "stoat help
import" says how an import goes on after an interrupt.

flags:
`

// errUsage reports a mistake in the arguments.
var errUsage = errors.New("stoat-import -help says more")

// errInterrupted reports that the import was told to end.
var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line, without the program's name, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		o.flags.SetOutput(stdout)
		o.flags.PrintDefaults()
		return exitOK
	case err == nil:
		err = o.run(ctx, stdout, stderr)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "stoat-import: %v\n", err)
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, stoat.ErrCorrupt):
		return exitDamaged
	}
	return exitError
}

// options is one command line.
type options struct {
	flags         *flag.FlagSet
	bolt, badger  string
	sqlite        string
	table, keysAs string // of sqlite
	skipBad       bool   // of sqlite
	bucket        []string
	restart, json bool
	db            string
	recordsMax    int // no flag: records in a transaction; 0: the default
}

// parse reads a command line. The options are there even if there is an error.
func parse(args []string) (*options, error) {
	o := &options{flags: flag.NewFlagSet("", flag.ContinueOnError)}
	o.flags.SetOutput(io.Discard)
	o.flags.StringVar(&o.bolt, "bolt", "", "a database of bbolt, in `FILE`")
	o.flags.StringVar(&o.badger, "badger", "", "a database of Badger, in the folder `DIR`")
	o.flags.StringVar(&o.sqlite, "sqlite", "", "a database of SQLite, in `FILE`")
	o.flags.StringVar(&o.table, "table", "", "only the table `NAME`, of -sqlite")
	o.flags.StringVar(&o.keysAs, "keys-as", "", "keys of -sqlite in the `FORM` tuple, text or rowid")
	o.flags.BoolVar(&o.skipBad, "skip-bad", false, "leave out and count bad rows of -sqlite")
	o.flags.BoolVar(&o.restart, "restart", false, "start anew after a run that did not finish")
	o.flags.BoolVar(&o.json, "json", false, "print the summary as JSON")
	o.flags.Func("bucket", "import into the bucket `PATH`, like a/b", func(text string) (err error) {
		o.bucket, err = bucketpath.Parse(text)
		return err
	})
	var names []string
	for len(args) > 0 {
		if err := o.flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return o, err
			}
			return o, fmt.Errorf("%v: %w", err, errUsage)
		}
		rest := o.flags.Args()
		if len(rest) == 0 {
			break
		}
		if last := len(args) - len(rest) - 1; last >= 0 && args[last] == "--" {
			names = append(names, rest...)
			break
		}
		names, args = append(names, rest[0]), rest[1:]
	}
	if len(names) != 1 || names[0] == "" {
		return o, fmt.Errorf("want the name of one database: %w", errUsage)
	}
	o.db = names[0]
	return o, o.check()
}

// check returns an error if flags contradict each other.
func (o *options) check() error {
	sources := 0
	for _, name := range []string{o.bolt, o.badger, o.sqlite} {
		if name != "" {
			sources++
		}
	}
	switch keyForm(o.keysAs) {
	case keyByType, keyTuple, keyText, keyRowid:
	default:
		return fmt.Errorf("-keys-as %q: want tuple, text or rowid: %w", o.keysAs, errUsage)
	}
	switch {
	case sources != 1:
		return fmt.Errorf("want one of -bolt, -badger and -sqlite: %w", errUsage)
	case o.sqlite == "" && (o.table != "" || o.keysAs != "" || o.skipBad):
		return fmt.Errorf("-table, -keys-as and -skip-bad are for -sqlite: %w", errUsage)
	}
	return nil
}

// open opens the source.
func (o *options) open() (source, error) {
	switch {
	case o.bolt != "":
		return openBolt(o.bolt)
	case o.badger != "":
		return openBadger(o.badger)
	}
	return openSQLite(o.sqlite, sqliteOptions{o.table, keyForm(o.keysAs), o.skipBad})
}

// settings returns what must be the same in all runs of an import.
func (o *options) settings() string {
	text := ""
	if o.table != "" {
		text = fmt.Sprintf("with -table %q", o.table)
	}
	if o.keysAs != "" {
		text += " with -keys-as " + o.keysAs
	}
	return text
}

// source is an open database of another library. It is not safe for concurrent use.
type source interface {
	identity() intake.Source
	size() int64 // bytes, about
	// read writes what is behind the position of the job, and calls add with the bytes of each
	// entry.
	read(ctx context.Context, job *intake.Job, add func(n int64)) error
	findings() []string // when all is read
	close() error
}

// run does the import.
func (o *options) run(ctx context.Context, stdout, stderr io.Writer) error {
	from, err := o.open()
	if err != nil {
		return err
	}
	started := time.Now()
	job, err := o.write(ctx, from, stderr)
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	return job.Report(o.db, from.findings()).Write(stdout, o.json, time.Since(started))
}

// write imports the source; how far it is shows on stderr, if that is a terminal.
func (o *options) write(ctx context.Context, from source, stderr io.Writer) (*intake.Job, error) {
	db, err := stoat.Open(o.db, nil)
	if err != nil {
		return nil, err
	}
	job, err := intake.Start(db, from.identity(), intake.Options{
		Bucket: o.bucket, Settings: o.settings(), Restart: o.restart, RecordsMax: o.recordsMax,
	})
	if err == nil {
		line := progress.NewLine(terminal(stderr), time.Now, "import", from.size())
		line.Resume(job.Counts().Bytes)
		err = readAll(ctx, from, job, line)
		line.Finish()
	}
	closeErr := db.Close()
	if err == nil && closeErr != nil {
		fmt.Fprintf(stderr, "stoat-import: warning: all is stored, but closing left work to do, which "+
			"the next program that writes does: %v\n", closeErr)
		return job, nil
	}
	return job, errors.Join(err, closeErr)
}

// readAll does a job that has just started.
func readAll(ctx context.Context, from source, job *intake.Job, line *progress.Line) error {
	defer job.Rollback()
	err := from.read(ctx, job, line.Add)
	switch {
	case err == nil:
		err = job.Finish()
	case errors.Is(err, errInterrupted):
		err = errors.Join(err, job.Pause())
	}
	if err != nil {
		return job.Stopped(err)
	}
	return nil
}

// interrupted returns an error if an interrupt has come.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// terminal returns w if a person reads it, else nil.
func terminal(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return w
}
