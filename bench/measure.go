package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/report/page"
	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/suite"
)

// measure runs what the flags say, and shows and keeps whatever was measured, also if it was
// interrupted.
func measure(args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	for _, p := range append(c.places, place{"", c.out}) {
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return fmt.Errorf("make the folder of databases or reports: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := report.New()
	r.Notes = c.limits()
	failure := c.runAll(ctx, r)
	if errors.Is(failure, context.Canceled) {
		r.Notes = append(r.Notes, "The run was interrupted.")
		failure = errors.New("interrupted")
	}
	failure = errors.Join(failure, c.show(r))
	if n := r.Failures(); n > 0 {
		failure = errors.Join(failure, fmt.Errorf("%d turns failed; their errors are in the report", n))
	}
	return failure
}

// limits returns notes on what cannot be measured because of the system.
func (c *choices) limits() (notes []string) {
	if c.settings.Profile != suite.Large {
		return nil
	}
	lift, err := machine.CapMemory(math.MaxInt32)
	if err == nil {
		err = lift()
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("Nothing is read with capped memory: %v", err))
	}
	return notes
}

// runAll measures each suite in each place with each durability.
func (c *choices) runAll(ctx context.Context, r *report.Report) error {
	note := func(text string) {
		if !slices.Contains(r.Notes, text) {
			r.Notes = append(r.Notes, text)
		}
	}
	programs := make(map[string]external.Program)
	for _, p := range c.programs {
		programs[p.Name] = p
	}
	for _, place := range c.places {
		for _, s := range c.suites {
			engines, notes := c.enginesOf(s)
			for _, n := range notes {
				note(n)
			}
			if len(engines) == 0 {
				continue
			}
			for _, sync := range c.syncs {
				settings := c.settings
				settings.Sync, settings.Storage = sync, place.name
				settings.Rows = rowsOf(s, settings.Rows)
				result := &report.Result{
					Suite:      s.Name,
					FileSystem: machine.FileSystem(place.dir),
					Settings:   settings,
					Engines:    report.Describe(engines),
				}
				r.Results = append(r.Results, result)
				run := runner.Runner{
					Suite: s, Engines: engines, Settings: settings, Dir: place.dir, Timeout: c.timeout,
					Progress: os.Stderr, External: programs, Plan: plan(s), Note: note,
				}
				if err := run.Run(ctx, result); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rowsOf returns those of the wanted rows that the suite has.
func rowsOf(s suite.Suite, wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		_, ok := s.Row(name)
		return !ok
	})
}

// show writes the report's files and prints what was measured.
func (c *choices) show(r *report.Report) error {
	err := writeFiles(r, c.out)
	if c.json {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(r))
	}
	err = errors.Join(err, r.Text(os.Stdout, findSuite, c.details))
	if err == nil {
		fmt.Printf("\nReport: %s\n", filepath.Join(c.out, pageName))
	}
	return err
}

// pageName is the name of the report for people.
const pageName = "report.html"

// writeFiles writes the report in its three forms into a folder. It tries all of them.
func writeFiles(r *report.Report, dir string) error {
	var errs []error
	for name, write := range map[string]func(w io.Writer) error{
		"results.json": r.JSON,
		"results.csv":  func(w io.Writer) error { return r.CSV(w, findSuite) },
		pageName:       func(w io.Writer) error { return page.Write(w, r, findSuite) },
	} {
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			errs = append(errs, fmt.Errorf("write the report: %w", err))
		}
	}
	return errors.Join(errs...)
}

func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
