package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// exportFlags is the flags of export.
type exportFlags struct {
	jsonl, csv          string
	key, value, expires string
	columns, delimiter  string
	valuesOnly          bool
	selection           *selection
}

func exportCommand() *command {
	flags := cmdline.NewFlags()
	o := &exportFlags{selection: &selection{in: bucketFlag(flags)}}
	flags.StringVar(&o.jsonl, "jsonl", "", "lines of JSON, to `FILE`")
	flags.StringVar(&o.csv, "csv", "", "comma-separated values under a header, to `FILE`")
	flags.StringVar(&o.key, "key", "key", "the `FIELD` or column for the key")
	flags.StringVar(&o.value, "value", "", "the `FIELD` or column for the value; else \"value\"")
	flags.StringVar(&o.expires, "expires", "expires", "the `FIELD` or column for the time of expiry")
	flags.StringVar(&o.columns, "columns", "", "the `FIELDS` of values for -csv, like id,name")
	flags.StringVar(&o.delimiter, "delimiter", "", "what separates columns of -csv: `C`, or tab")
	flags.BoolVar(&o.valuesOnly, "values", false, "leave the keys out")
	o.selection.rangeFlags(flags)
	return &command{
		Name:      "export",
		Arguments: "DB",
		Summary:   "write a bucket as JSON lines or CSV, for other programs",
		Details: `
-jsonl or -csv selects the form and the file; FILE may be -, for standard
output. The file appears, or replaces an earlier one, only when it is complete.
The export is one snapshot of one bucket, without nested buckets; use "stoat
dump" for the whole database. The lines of -jsonl are

  {"key":"text","value":{"a":1}}
  {"key64":"/wA=","value":"text","expires":"2030-01-02T15:04:05Z"}

A value that is JSON, but not a string, is written as it is, and any other as a
string; bytes that are not valid UTF-8 go to "key64" and "value64" as base64.
With -values, each line is a value, which must be JSON.

-csv has a column for each field of the values, if all of them are JSON objects;
nested values stay JSON, and null and missing fields are empty. -columns names
the fields instead. If one of the values is not an object, or -value is given,
the columns are key and value, or key64 and value64 for all rows if one row
needs it. If the values have a field that holds the key, under the name of the
key, there is no extra column for it.

To restore everything byte for byte, export as JSON lines, or as CSV with
-value value, and import with -key key -value value, plus -expires expires if
entries expire. An import takes lines and rows of up to 64 MiB; for larger
ones use "stoat dump" and "stoat load".`,
		Min: 1, Max: 1,
		Flags: flags,
		Run:   func(s *stdio, args []string) error { return export(s, o, args[0]) },
	}
}

// check returns an error if flags contradict each other.
func (o *exportFlags) check() error {
	switch {
	case (o.jsonl == "") == (o.csv == ""):
		return cmdline.Usagef("give either -jsonl or -csv, with a file or -")
	case o.csv == "" && (o.columns != "" || o.delimiter != ""):
		return cmdline.Usagef("-columns and -delimiter are for -csv")
	case o.columns != "" && o.value != "":
		return cmdline.Usagef("-columns and -value exclude each other: a value is one column, or several")
	case o.key == "" || o.expires == "":
		return cmdline.Usagef("the name of a field or column is empty")
	}
	if err := o.checkNames(); err != nil {
		return err
	}
	_, err := parseDelimiter(o.delimiter)
	return err
}

// checkNames returns an error if two fields or columns could get the same name, including the
// base64 suffix: an import would find only one of them.
func (o *exportFlags) checkNames() error {
	var names []string // in pairs: the flag, and what it says
	switch {
	case o.jsonl != "" && o.valuesOnly:
		return nil
	case !o.valuesOnly:
		names = append(names, "-key", o.key)
	}
	if o.value != "" || o.jsonl != "" {
		names = append(names, "-value", cmp.Or(o.value, "value"))
	}
	names = append(names, "-expires", o.expires)
	for i := 0; i < len(names); i += 2 {
		for j := i + 2; j < len(names); j += 2 {
			if a, b := names[i+1], names[j+1]; a == b || a+base64Suffix == b || b+base64Suffix == a {
				return cmdline.Usagef("%s %q and %s %q cannot be told apart in what is written, where base64 "+
					"adds %s to a name: give one of them another name", names[i], a, names[j], b,
					base64Suffix)
			}
		}
	}
	return nil
}

// export writes a bucket to a file or to standard output.
func export(s *stdio, o *exportFlags, db string) error {
	if err := o.check(); err != nil {
		return err
	}
	name := o.jsonl + o.csv
	if name == "-" {
		s.errTerminal = s.errTerminal && !s.outTerminal // a bar would mix with the lines
		_, err := o.write(context.Background(), s, db, s.out)
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	f, err := createOutfile(name)
	if err != nil {
		return err
	}
	started := time.Now()
	e, err := o.write(ctx, s, db, f.Writer)
	if errors.Is(err, errInterrupted) {
		err = fmt.Errorf("%w; %s is as it was", err, name)
	}
	if err != nil {
		return errors.Join(err, f.discard())
	}
	if err := f.finish(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s, %s in %s\n", countedEntries(e.entries),
		progress.Bytes(float64(e.bytes)), progress.Duration(time.Since(started)))
	return err
}

// exported is how much an export has written.
type exported struct {
	entries int64
	bytes   int64 // of keys and values
}

// rowWriter writes entries in one form. It is not safe for concurrent use.
type rowWriter interface {
	// look is called with all entries before the first write, until it returns false.
	look(e *entry) (more bool, err error)
	begin(w *bufio.Writer) error
	write(w *bufio.Writer, e *entry) error
}

// write writes the bucket to w.
func (o *exportFlags) write(
	ctx context.Context, s *stdio, db string, w *bufio.Writer,
) (done exported, err error) {
	r, err := o.selection.keyRange()
	if err != nil {
		return done, err
	}
	err = view(s, db, func(tx *stoat.Tx) error {
		b, err := o.selection.in.find(tx)
		if err != nil {
			return err
		}
		form := o.form()
		if err := lookAll(ctx, b, r, form); err != nil {
			return err
		}
		if err := form.begin(w); err != nil {
			return err
		}
		line := newProgress(s, "export", 0)
		defer line.Finish()
		err = eachEntry(ctx, b, r, func(e *entry) error {
			done.entries++
			done.bytes += int64(len(e.key) + len(e.value))
			line.Add(int64(len(e.key) + len(e.value)))
			return form.write(w, e)
		})
		if err != nil {
			return err
		}
		return noteInner(s, b)
	})
	return done, err
}

// form returns the writer of the form that the flags select.
func (o *exportFlags) form() rowWriter {
	if o.jsonl != "" {
		return &jsonlWriter{
			key: o.key, value: cmp.Or(o.value, "value"), expires: o.expires, valuesOnly: o.valuesOnly,
		}
	}
	t := &tableWriter{
		key: o.key, value: o.value, expires: o.expires, valuesOnly: o.valuesOnly,
		index: map[string]int{}, fixed: o.columns != "" || o.value != "",
	}
	t.delimiter, _ = parseDelimiter(o.delimiter) // it was checked
	if o.columns != "" {
		for _, name := range strings.Split(o.columns, ",") {
			t.add([]byte(name))
		}
	}
	return t
}

// lookAll shows all entries to the form until it has seen enough.
func lookAll(ctx context.Context, b stoat.KeySpace, r stoat.Range, form rowWriter) error {
	enough := errors.New("enough")
	err := eachEntry(ctx, b, r, func(e *entry) error {
		more, err := form.look(e)
		if err == nil && !more {
			err = enough
		}
		return err
	})
	if err == enough {
		return nil
	}
	return err
}

// noteInner tells the user that nested buckets are not exported.
func noteInner(s *stdio, b stoat.KeySpace) error {
	n := int64(0)
	for range b.Buckets() {
		n++
	}
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(s.err, "stoat: note: %s within it not exported: export each with -bucket\n",
		progress.Counted(n, "bucket"))
	return err
}
