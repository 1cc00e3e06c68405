package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// errLost is what salvage returns when it has done what can be done, and something is lost.
var errLost = errors.New("not all of the database could be saved")

func salvageCommand() *command {
	flags := newFlags()
	asJSON := flags.Bool("json", false, "print the report as JSON")
	return &command{
		name:      "salvage",
		arguments: "SRC DST",
		summary:   "make a new database of what can be read of a damaged one",
		details: `
Reads the damaged database at SRC, as far as that can be read, and writes a new
one to DST, which must be missing or empty. SRC is not changed. No process may
have it open.

Prefer a backup if there is one. The report says what is lost: values, by their
keys, and ranges of keys in which keys may be missing, older than their last
value, or back after they were deleted. Keep SRC until you have read it. An
interrupt stops the command and removes DST. Collections of package record and
feeds of package feed that have lost something say so when they are opened:
"stoat record reindex" makes them usable.

Exit codes: 0 nothing is lost, 4 something is lost, and the report says what;
others as "stoat help" lists them: then there is nothing at DST.`,
		min: 2, max: 2,
		flags: flags,
		run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return salvage(ctx, s, args[0], args[1], *asJSON)
		},
	}
}

// salvage makes a new database of a damaged one and prints the report.
func salvage(ctx context.Context, s *stdio, src, dst string, asJSON bool) error {
	if src == "" || dst == "" {
		return usagef("the name of the database is empty")
	}
	report, err := salvageWatched(ctx, s, src, dst)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w; nothing was kept", errInterrupted)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database at %s: check the path (%w)", src, err)
	case errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("there is nothing to be saved: %v; restore a backup", err)
	case errors.Is(err, stoat.ErrLocked):
		return fmt.Errorf("%w: end that process first", err)
	case err != nil:
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(s.out)
		err = encoder.Encode(report)
	} else {
		_, err = s.out.WriteString(report.String())
	}
	if err == nil && report.Lost() {
		err = errLost
	}
	return err
}

// salvageWatched salvages with a line on a terminal that says how much has been written.
func salvageWatched(
	ctx context.Context, s *stdio, src, dst string,
) (report *stoat.SalvageReport, err error) {
	done := make(chan struct{})
	go func() {
		report, err = stoat.Salvage(ctx, src, dst)
		close(done)
	}()
	line := newProgress(s, "salvage", 0)
	defer line.Finish()
	ticker := time.NewTicker(progress.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return report, err
		case <-ticker.C:
			// Nobody else can say how far it is; an error will be Salvage's to report.
			if _, size, err := diskUsage(dst); err == nil {
				line.Add(max(0, size-line.Done()))
			}
		}
	}
}
