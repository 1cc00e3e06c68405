package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

func tourCommand() *command {
	flags := cmdline.NewFlags()
	dir := flags.String("dir", "", "store the files of `FOLDER`, not those of the Go source")
	keep := flags.String("keep", "", "keep the database, at the path `DB`, where nothing may be yet")
	asJSON := flags.Bool("json", false, "print one JSON object at the end instead")
	return &command{
		Name:    "tour",
		Summary: "show what Stoat does, with the Go source on this machine",
		Details: `
The tour stores every file of the Go toolchain's source tree under its path,
reads them back in several ways, kills a process that writes, and compares all
files with the directory, byte for byte. It only reads the directory. The
database is in a temporary directory and removed at the end. If anything is
wrong, the exit code is not 0 and the file is named.`,
		Flags: flags,
		Run: func(s *stdio, _ []string) error {
			ctx, stop := interruptible()
			defer stop()
			t := &tour{ctx: ctx, s: s, quiet: *asJSON}
			err := t.start(*dir, *keep)
			if *asJSON {
				err = errors.Join(err, t.printJSON(err))
			}
			return err
		},
	}
}

// tour is the state of one tour. It is not safe for concurrent use.
type tour struct {
	ctx    context.Context
	s      *stdio
	quiet  bool // only the report is printed
	keep   bool // the database stays
	table  *table
	tree   *sourceTree
	dir    string // of the database
	db     *stoat.DB
	report tourReport
}

// tourReport is the outcome of a tour; -json prints it in this form. Times are in seconds.
type tourReport struct {
	OK       bool    `json:"ok"`
	Error    string  `json:"error,omitempty"`
	Go       string  `json:"go"`
	System   string  `json:"system"`
	CPUs     int     `json:"cpus"`
	Folder   string  `json:"folder"`
	Database string  `json:"database"`
	Skipped  skipped `json:"skipped"`

	Load      loadReport     `json:"load"`
	Size      sizeReport     `json:"size"`
	FirstGets getsReport     `json:"firstGets"`
	Gets      getsReport     `json:"gets"`
	Prefix    scanReport     `json:"prefixScan"`
	Keys      scanReport     `json:"keyScan"`
	Snapshot  snapshotReport `json:"snapshot"`
	Crash     crashReport    `json:"crash"`
	Compare   scanReport     `json:"compare"`
}

// start finds the files, makes a folder for the database, walks all steps, and cleans up.
func (t *tour) start(folder, keep string) (err error) {
	if folder == "" {
		t.tree, err = goSource()
	} else {
		t.tree, err = readTree(folder, ".")
	}
	if err != nil {
		return err
	}
	t.dir, t.keep = keep, keep != ""
	if !t.keep {
		if t.dir, err = os.MkdirTemp("", "stoat-tour-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	} else if _, err := os.Lstat(keep); err == nil {
		return fmt.Errorf("%s already exists: choose a path that does not", keep)
	}
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	if err := t.walk(); err != nil {
		return errors.Join(err, t.close())
	}
	t.report.OK = true
	return t.close()
}

// walk makes all steps.
func (t *tour) walk() error {
	t.report.Go = runtime.Version()
	t.report.System = runtime.GOOS + "/" + runtime.GOARCH
	t.report.CPUs = runtime.NumCPU()
	t.report.Folder, t.report.Database = t.tree.base, t.dir
	t.table = newTourTable(t.s)
	if err := t.header(); err != nil {
		return err
	}
	for _, step := range []func() error{
		t.load, t.size, t.gets, t.prefixScan, t.keyScan, t.snapshot, t.crash, t.compare,
	} {
		if err := interrupted(t.ctx); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return t.footer()
}

// open opens the database for the next steps.
func (t *tour) open(opts *stoat.Options) error {
	db, err := open(t.s, t.dir, opts)
	if err == nil {
		t.db = db
	}
	return err
}

// close closes the database if it is open.
func (t *tour) close() error {
	if t.db == nil {
		return nil
	}
	db := t.db
	t.db = nil
	return db.Close()
}

// whatColumns is the width of the column for names of folders.
const whatColumns = 28

// newTourTable returns the table of the steps, 79 columns wide.
func newTourTable(s *stdio) *table {
	return &table{s, []column{
		{width: 1, look: bold},
		{width: 18},
		{width: whatColumns},
		{width: 8, right: true},
		{width: 16, right: true, look: green},
	}}
}

// row prints one row of the table: a step's number and name, on what, how long and how fast.
func (t *tour) row(number, step, what, took, result string) error {
	if t.quiet {
		return nil
	}
	return t.table.row(number, step, shorten(what, whatColumns), took, result)
}

// say prints a line of text.
func (t *tour) say(text string, look style) error {
	if t.quiet {
		return nil
	}
	if _, err := fmt.Fprintln(t.s.out, t.s.paint(text, look)); err != nil {
		return err
	}
	return t.s.out.Flush()
}

// printJSON prints the report; err is what ended the tour.
func (t *tour) printJSON(err error) error {
	if err != nil {
		t.report.OK, t.report.Error = false, err.Error()
	}
	return json.NewEncoder(t.s.out).Encode(t.report)
}

func (t *tour) header() error {
	text := fmt.Sprintf("Stoat tour: %s, %s, from %s\n%s, %s, %s; the database is in\n%s\n",
		progress.Counted(int64(len(t.tree.files)), "file"), progress.Bytes(float64(t.tree.bytes)),
		t.tree.base, t.report.Go, t.report.System, progress.Counted(int64(t.report.CPUs), "CPU"), t.dir)
	if err := t.say(text, plain); err != nil {
		return err
	}
	return t.row("", "step", "what", "time", "result")
}

// footer prints what was skipped and where the database is.
func (t *tour) footer() error {
	if err := t.say("", plain); err != nil {
		return err
	}
	if n := t.report.Skipped.total(); n > 0 {
		skip := t.report.Skipped
		text := fmt.Sprintf("Skipped: %s, %d special, %d unreadable, %d over 1 GiB.",
			progress.Counted(int64(skip.Links), "link"), skip.Special, skip.Unreadable, skip.Large)
		if err := t.say(text, faint); err != nil {
			return err
		}
	}
	if err := t.say("All is as it should be.", green); err != nil || !t.keep {
		return err
	}
	text := "The database is kept: stoat keys " + t.dir
	if prefix := t.tree.prefix(); prefix != "" {
		text += " -prefix " + prefix
	}
	return t.say(text+" -limit 10", plain)
}
