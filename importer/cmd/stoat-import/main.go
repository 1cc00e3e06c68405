// Command stoat-import imports bbolt, Badger and SQLite databases into Stoat. It is a separate
// program and module, so only those who import need these libraries; "stoat import" runs it.
//
// An import is an [intake.Job]: it writes bounded transactions and can continue after an interrupt.
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
	"github.com/stoatdb/stoat/internal/commands/keyfile"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// Exit codes; they are the same as those of the command stoat.
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
import" describes how to resume an interrupted import.

flags:
`

// errUsage is returned for wrong arguments.
var errUsage = errors.New("run stoat-import -help")

// errInterrupted is returned if the import was interrupted.
var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
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

// options are those of one command line.
type options struct {
	flags         *flag.FlagSet
	bolt, badger  string
	sqlite        string
	table, keysAs string // for sqlite
	skipBad       bool   // for sqlite
	bucket        []string
	restart, json bool
	keyFile       string // has the key of db; may be ""
	db            string
	recordsMax    int // records in a transaction; 0 is the default; not a flag
}

// parse reads a command line. The options are valid even if it returns an error.
func parse(args []string) (*options, error) {
	o := &options{flags: flag.NewFlagSet("", flag.ContinueOnError)}
	o.flags.SetOutput(io.Discard)
	o.flags.StringVar(&o.bolt, "bolt", "", "import the bbolt database `FILE`")
	o.flags.StringVar(&o.badger, "badger", "", "import the Badger database in the directory `DIR`")
	o.flags.StringVar(&o.sqlite, "sqlite", "", "import the SQLite database `FILE`")
	o.flags.StringVar(&o.table, "table", "", "with -sqlite: import only the table `NAME`")
	o.flags.StringVar(&o.keysAs, "keys-as", "", "with -sqlite: `FORM` of keys: tuple, text or rowid")
	o.flags.BoolVar(&o.skipBad, "skip-bad", false, "with -sqlite: skip and count bad rows")
	o.flags.BoolVar(&o.restart, "restart", false, "start over after an unfinished run")
	o.flags.BoolVar(&o.json, "json", false, "print the summary as JSON")
	o.flags.Func("bucket", "import into the bucket `PATH`, like a/b", func(text string) (err error) {
		o.bucket, err = bucketpath.Parse(text)
		return err
	})
	o.flags.StringVar(&o.keyFile, "key-file", "",
		"`FILE` has the key of the database DB, in hex or binary")
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
		return o, fmt.Errorf("give the name of one database: %w", errUsage)
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
		return fmt.Errorf("-keys-as %q: must be tuple, text or rowid: %w", o.keysAs, errUsage)
	}
	switch {
	case sources != 1:
		return fmt.Errorf("give one of -bolt, -badger and -sqlite: %w", errUsage)
	case o.sqlite == "" && (o.table != "" || o.keysAs != "" || o.skipBad):
		return fmt.Errorf("-table, -keys-as and -skip-bad need -sqlite: %w", errUsage)
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

// settings returns the settings that must be the same in all runs of an import.
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
	size() int64 // in bytes, approximately
	// read writes what follows the job's position, and calls add with the length of each entry.
	read(ctx context.Context, job *intake.Job, add func(n int64)) error
	findings() []string // after reading everything
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

// write imports the source, showing progress on stderr if that is a terminal.
func (o *options) write(ctx context.Context, from source, stderr io.Writer) (*intake.Job, error) {
	key, err := o.key()
	if err != nil {
		return nil, err
	}
	db, err := stoat.Open(o.db, &stoat.Options{Key: key})
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
	if err == nil && intake.LeavesMuch(db) {
		if err := db.Compact(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(stderr, "stoat-import: warning: everything is stored, but not compacted: %v\n", err)
		}
	}
	closeErr := db.Close()
	if err == nil && closeErr != nil {
		fmt.Fprintf(stderr, "stoat-import: warning: everything is stored, but closing left work that "+
			"the next writer will finish: %v\n", closeErr)
		return job, nil
	}
	return job, errors.Join(err, closeErr)
}

// key returns the key of the database; nil if it is not encrypted.
func (o *options) key() ([]byte, error) {
	if o.keyFile == "" {
		return nil, nil
	}
	return keyfile.Read(os.ReadFile, o.keyFile)
}

// readAll does a started job.
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

// interrupted returns an error if the import was interrupted.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// terminal returns w if it is a terminal, otherwise nil.
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
