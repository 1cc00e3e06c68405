package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/suite"
)

// measure runs what the flags say, and shows and keeps what was measured even if it was
// interrupted.
func measure(args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	ctx, stop := untilStopped()
	defer stop()
	// The reader of the progress may be gone before the end, which is no reason to die.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	r := report.New()
	for _, text := range c.limits() {
		note(r, text)
	}
	failure := c.runAll(ctx, r)
	if errors.Is(failure, context.Canceled) {
		note(r, "The run was interrupted.")
		failure = errors.New("interrupted")
	}
	failure = errors.Join(failure, c.show(r))
	if n := r.Failures(); n > 0 {
		failed := fmt.Errorf("%d turns failed; their errors are in the report", n)
		failure = errors.Join(failure, failed)
	}
	if failure == nil && empty(r) {
		return errors.New("nothing was measured; the notes in the report say why")
	}
	return failure
}

// note adds a note to the report, unless it already has it.
func note(r *report.Report, text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// empty reports whether nothing was measured.
func empty(r *report.Report) bool {
	return !slices.ContainsFunc(r.Results, func(result *report.Result) bool {
		return len(result.Measurements) > 0
	})
}

// limits returns the suites' notes on what they leave out.
func (c *choices) limits() (notes []string) {
	for _, s := range c.suites {
		if s.Limits != nil {
			notes = append(notes, s.Limits(c.settings)...)
		}
	}
	return notes
}

// runAll measures each suite on each storage with each durability mode.
func (c *choices) runAll(ctx context.Context, r *report.Report) error {
	for _, place := range c.places {
		for _, s := range c.suites {
			for _, sync := range c.syncs {
				if err := c.runSuite(ctx, r, s, place, sync); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// runSuite measures a suite on one storage with one durability mode, which is one result.
func (c *choices) runSuite(
	ctx context.Context, r *report.Report, s suite.Suite, at place, sync bool,
) error {
	engines, notes := c.enginesOf(s)
	for _, n := range notes {
		note(r, n)
	}
	if len(engines) == 0 {
		return nil
	}
	settings := c.settings
	settings.Sync, settings.Storage = sync, at.name
	settings.Rows = rowsOf(s, settings.Rows)
	result := &report.Result{
		Suite:      s.Name,
		FileSystem: machine.FileSystem(at.dir),
		Settings:   settings,
		Engines:    report.Describe(engines),
	}
	r.Results = append(r.Results, result)
	programs := make(map[string]external.Program)
	for _, p := range c.programs {
		programs[p.Name] = p
	}
	run := runner.Runner{
		Suite: s, Engines: engines, Settings: settings, Dir: at.dir, Timeout: c.timeout,
		Progress: os.Stderr, External: programs, Plan: plan(s),
		Note:  func(text string) { note(r, text) },
		Added: func() { c.save(r) },
	}
	return run.Run(ctx, result)
}

// rowsOf returns the wanted rows that the suite has.
func rowsOf(s suite.Suite, wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		_, ok := s.Row(name)
		return !ok
	})
}
