package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/internal/corrupt"
)

// checkOptions is the flags of check.
type checkOptions struct {
	quick, json bool
}

func checkCommand() *command {
	var o checkOptions
	c := &command{
		Name:      "check",
		Arguments: "DB",
		Summary:   "read all files and report damage",
		Details: `
Verifies every checksum, that everything can be decoded and found, and that the
files match the manifest. It changes nothing, and can run while another process
has the database open: then it checks the state at its start. Prints one line
for each problem, with the file and the offset, and exits with 4 if there are
any.

Damage cannot be repaired in place: restore a backup, or save what is readable
with "stoat salvage DB NEW".`,
		Min: 1, Max: 1,
		Flags: cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return check(ctx, s, args[0], o)
		},
	}
	c.Flags.BoolVar(&o.quick, "quick", false, "look at the ends of files only, not at all of them")
	c.Flags.BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// checkReport is the outcome of check; -json prints it in this form.
type checkReport struct {
	Database     string   `json:"database"`
	OK           bool     `json:"ok"`
	Quick        bool     `json:"quick"`
	Tables       int      `json:"tables"`
	ValueFiles   int      `json:"valueFiles"`
	CheckedBytes uint64   `json:"checkedBytes"`
	Findings     []string `json:"findings"`

	damaged bool // there is a finding other than that a file may be elsewhere
}

// check checks an existing database and prints its findings.
func check(ctx context.Context, s *stdio, dir string, o checkOptions) error {
	r := &checkReport{Database: dir, Quick: o.quick, Findings: []string{}}
	err := r.run(ctx, s)
	switch {
	case errors.Is(err, stoat.ErrCorrupt):
		for _, found := range listed(err) {
			r.Findings = append(r.Findings, found.Error())
			r.damaged = r.damaged || !errors.Is(found, corrupt.ErrElsewhere)
		}
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w; no damage was found until then", errInterrupted)
	case err != nil:
		return err
	}
	r.OK = err == nil
	if err := r.print(s, o.json); err != nil || r.OK {
		return err
	}
	findings := progress.Counted(int64(len(r.Findings)), "finding")
	if !r.damaged {
		return fmt.Errorf("%s is not all here, %s: %w", dir, findings, corrupt.ErrElsewhere)
	}
	return fmt.Errorf("%s is damaged, %s: %w", dir, findings, stoat.ErrCorrupt)
}

// run checks the database. All damage, including damage that keeps it from opening, matches
// stoat.ErrCorrupt.
func (r *checkReport) run(ctx context.Context, s *stdio) error {
	db, err := open(s, r.Database, &stoat.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	if r.Quick {
		err = db.CheckQuick(ctx)
	} else {
		err = checkWatched(ctx, s, db)
	}
	stats := db.Stats()
	r.Tables, r.ValueFiles, r.CheckedBytes = stats.Tables, stats.ValueFiles, stats.CheckedBytes
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	return err
}

// listed returns the errors that err joins.
func listed(err error) []error {
	if joined, many := err.(interface{ Unwrap() []error }); many {
		return joined.Unwrap()
	}
	return []error{err}
}

// print writes the report.
func (r *checkReport) print(s *stdio, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	for _, found := range r.Findings {
		if _, err := fmt.Fprintln(s.out, found); err != nil {
			return err
		}
	}
	if !r.OK {
		return nil
	}
	read := progress.Bytes(float64(r.CheckedBytes)) + " read"
	if r.Quick {
		read = "only the ends of files were read"
	}
	_, err := fmt.Fprintf(s.out, "ok: %s, %s; %s\n", progress.Counted(int64(r.Tables), "table"),
		progress.Counted(int64(r.ValueFiles), "value file"), read)
	return err
}

// checkWatched checks with a progress bar on a terminal.
func checkWatched(ctx context.Context, s *stdio, db *stoat.DB) error {
	done := make(chan error, 1)
	go func() { done <- db.Check(ctx) }()
	stats := db.Stats()
	line := newProgress(s, "check", int64(stats.TableBytes+stats.ValueBytes))
	defer line.Finish()
	ticker := time.NewTicker(progress.Interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			line.Add(int64(db.Stats().CheckedBytes) - line.Done())
		}
	}
}
