package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/intake"
)

// importFlags is the flags of import.
type importFlags struct {
	jsonl, csv, tsv, margaret, bolt, badger, sqlite string
	key, value, expires, delimiter, feed            string
	table, keysAs                                   string // of sqlite
	into                                            *path
	skipBad, restart, json                          bool

	recordsMax int // no flag: records in a transaction; 0: the default
}

func importCommand() *command {
	flags := cmdline.NewFlags()
	o := &importFlags{into: bucketFlag(flags)}
	o.sourceFlags(flags)
	flags.StringVar(&o.key, "key", "", "the `FIELD` or column that is the key, of text")
	flags.StringVar(&o.value, "value", "", "the `FIELD` or column that is the value; else all")
	flags.StringVar(&o.expires, "expires", "", "the `FIELD` or column that is the time of expiry")
	flags.StringVar(&o.delimiter, "delimiter", "", "what separates columns of -csv: `C`, or tab")
	flags.StringVar(&o.table, "table", "", "import only the table `NAME` of -sqlite")
	flags.StringVar(&o.keysAs, "keys-as", "", "keys of -sqlite in the `FORM` tuple, text or rowid")
	flags.StringVar(&o.feed, "feed", "", "append the entries to the feed `NAME`")
	flags.BoolVar(&o.skipBad, "skip-bad", false, "skip and count bad lines and rows")
	flags.BoolVar(&o.restart, "restart", false, "start over after a run that did not finish")
	flags.BoolVar(&o.json, "json", false, "print the summary as JSON")
	return &command{
		Name:      "import",
		Arguments: "DB",
		Summary:   "import data from other programs",
		Details: `
One of -jsonl, -csv, -tsv, -margaret, -bolt, -badger and -sqlite selects the
source. The database is created if necessary. Existing keys stay, unless the
source has the same key.

-jsonl stores each line, a JSON value; -csv stores each row as a JSON object of
strings; -tsv is CSV with tabs and without quotes. FILE may be -, for standard
input, and may be compressed with gzip or zstd. -key names the field or column,
a string or a number, that is the key; if a key repeats, the last one wins. With
-value, only that field is stored. If there is no field or column NAME but
NAME64, it holds base64. -expires takes times like 2030-01-02T15:04:05Z, or
seconds since 1970; entries that have expired are skipped. The flags -key key
-value value -expires expires restore what "stoat export" has written.

Without -key the entries are numbered, in a feed if -feed names one, else in the
bucket: the keys are 0, 1, 2, and so on, as 8 bytes, big-endian. A Margaret log
becomes a feed with the name of its directory, unless -feed or -bucket is given;
redacted entries keep their numbers, and a torn tail is reported.

-bolt keeps buckets and sequences; -badger keeps expiry times. -sqlite makes a
bucket of each table, and a JSON object of each row, with blobs as base64. The
key is the primary key, or else the rowid: a single text or blob as it is, and
anything else encoded by package tuple; -keys-as changes that. These three need
the program stoat-import; if it is missing, the error says how to get it.

An import writes transactions of a few MiB and records its progress in each.
After an error or an interrupt the same command resumes, provided the source has
not changed; -restart starts over, and first removes the numbered entries that
the earlier run stored. Until an import is finished, the root bucket has a
bucket named \xffimport that holds the bookmark. Running a finished import again
imports again. Standard input cannot be read twice, so it is imported in one
transaction, all or nothing.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			if o.bolt != "" || o.badger != "" || o.sqlite != "" {
				return importElsewhere(s, flags, o, args[0])
			}
			return importHere(ctx, s, o, args[0])
		},
	}
}

// sourceFlags adds the flags that say what to import.
func (o *importFlags) sourceFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.jsonl, "jsonl", "", "lines of JSON, in `FILE`")
	flags.StringVar(&o.csv, "csv", "", "comma-separated values under a header, in `FILE`")
	flags.StringVar(&o.tsv, "tsv", "", "tab-separated values under a header, in `FILE`")
	flags.StringVar(&o.margaret, "margaret", "", "a Margaret log (offset2), in the directory `DIR`")
	flags.StringVar(&o.bolt, "bolt", "", "a database of bbolt, in `FILE`")
	flags.StringVar(&o.badger, "badger", "", "a database of Badger, in the directory `DIR`")
	flags.StringVar(&o.sqlite, "sqlite", "", "a database of SQLite, in `FILE`")
}

// source returns what is to be imported, and from where.
func (o *importFlags) source() (kind, name string, err error) {
	for _, given := range [...][2]string{
		{"jsonl", o.jsonl}, {"csv", o.csv}, {"tsv", o.tsv}, {"margaret", o.margaret},
		{"bolt", o.bolt}, {"badger", o.badger}, {"sqlite", o.sqlite},
	} {
		if given[1] == "" {
			continue
		}
		if kind != "" {
			return "", "", cmdline.Usagef("-%s and -%s exclude each other", kind, given[0])
		}
		kind, name = given[0], given[1]
	}
	if kind == "" {
		return "", "", cmdline.Usagef("nothing to import: give one of -jsonl, -csv, -tsv, -margaret, " +
			"-bolt, -badger, -sqlite")
	}
	return kind, name, o.fit(kind)
}

// fit returns an error if flags do not apply to the kind of source.
func (o *importFlags) fit(kind string) error {
	text := kind == "jsonl" || kind == "csv" || kind == "tsv"
	for _, given := range [...]struct {
		name string
		is   bool
	}{
		{"key", o.key != ""}, {"value", o.value != ""}, {"expires", o.expires != ""},
		{"skip-bad", o.skipBad && kind != "sqlite"},
	} {
		if given.is && !text {
			return cmdline.Usagef("-%s is for -jsonl, -csv and -tsv: what -%s imports has its keys "+
				"and values", given.name, kind)
		}
	}
	switch {
	case (o.table != "" || o.keysAs != "") && kind != "sqlite":
		return cmdline.Usagef("-table and -keys-as are for -sqlite")
	case o.delimiter != "" && kind != "csv":
		return cmdline.Usagef("-delimiter is for -csv")
	case o.expires != "" && o.key == "":
		return cmdline.Usagef("-expires is for entries with keys: give -key, too")
	case o.feed != "" && (o.key != "" || len(*o.into) > 0 || !text && kind != "margaret"):
		return cmdline.Usagef("-feed is for numbered entries, without -key and -bucket")
	}
	return nil
}

// feedName returns the feed to import into, if it is one.
func (o *importFlags) feedName() string {
	if o.feed == "" && o.margaret != "" && len(*o.into) == 0 {
		return filepath.Base(filepath.Clean(o.margaret))
	}
	return o.feed
}

// settings returns what must be the same in all runs of an import.
func (o *importFlags) settings() string {
	text := "without -key"
	if feed := o.feedName(); feed != "" {
		text = "with -feed " + quote([]byte(feed))
	} else if o.key != "" {
		text = "with -key " + quote([]byte(o.key))
	}
	for _, given := range [...][2]string{
		{"value", o.value}, {"expires", o.expires}, {"delimiter", o.delimiter},
	} {
		if given[1] != "" {
			text += ", -" + given[0] + " " + quote([]byte(given[1]))
		}
	}
	return text
}

// open opens the source.
func (o *importFlags) open(ctx context.Context, s *stdio) (entryReader, error) {
	kind, name, err := o.source()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "jsonl":
		return openJSONL(ctx, s, o)
	case "csv", "tsv":
		return openCSV(ctx, s, o, kind, name)
	}
	return openMargaret(name)
}

// importHere imports from sources that need no other library.
func importHere(ctx context.Context, s *stdio, o *importFlags, dir string) error {
	r, err := o.open(ctx, s) // before the database is created
	if err != nil {
		return err
	}
	defer r.close() // nothing was written
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	started := time.Now()
	job, err := intake.Start(db, r.source(), intake.Options{
		Bucket: *o.into, Feed: o.feedName(), Settings: o.settings(), Restart: o.restart,
		RecordsMax: o.recordsMax, Once: r.once(),
	})
	if err == nil {
		err = importFrom(ctx, s, job, r, o.skipBad)
	}
	if err == nil {
		err = compactLoaded(ctx, s, db)
	}
	took := time.Since(started)
	if err := closeAfter(s, db, err); err != nil {
		return err
	}
	return job.Report(dir, r.findings()).Write(s.out, o.json, took)
}

// importFrom does a job that has just started.
func importFrom(
	ctx context.Context, s *stdio, job *intake.Job, r entryReader, skipBad bool,
) error {
	defer job.Rollback()
	if err := r.seek(job.Position()); err != nil {
		return job.Stopped(err)
	}
	line := newProgress(s, "import", r.size())
	line.Resume(r.done())
	var err error
	for err == nil {
		if err = interrupted(ctx); err != nil {
			break
		}
		if err = importNext(job, r, skipBad); err == nil {
			line.Add(r.done() - line.Done())
			err = job.Advance(r.position())
		}
	}
	line.Finish()
	switch {
	case errors.Is(err, errImported):
		err = job.Finish()
	case errors.Is(err, errInterrupted):
		err = errors.Join(errInterrupted, job.Pause())
	}
	if err != nil {
		return job.Stopped(err)
	}
	return nil
}

// errImported reports the end of a source.
var errImported = errors.New("everything is imported")

// importNext writes the next entry of the source; at its end the error is errImported.
func importNext(job *intake.Job, r entryReader, skipBad bool) error {
	e, err := r.next()
	var bad *badEntry
	if errors.As(err, &bad) {
		if skipBad {
			job.Skipped()
			return nil
		}
		return fmt.Errorf("%s: %w (-skip-bad skips such entries)", r.where(), err)
	}
	switch {
	case errors.Is(err, errImported):
		return err
	case err != nil:
	case e.redacted:
		err = job.Redacted()
	case e.key == nil:
		err = job.Append(e.value)
	case e.expires.IsZero():
		err = job.Put(e.key, e.value)
	default:
		err = job.PutUntil(e.key, e.value, e.expires, !e.expires.After(time.Now()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.where(), err)
	}
	return nil
}
