package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// errLost is the error of a salvage that has finished, but has lost something.
var errLost = errors.New("not all of the database could be saved")

func salvageCommand() *command {
	flags := cmdline.NewFlags()
	asJSON := flags.Bool("json", false, "print the report as JSON")
	return &command{
		Name:      "salvage",
		Arguments: "SRC DST",
		Summary:   "make a new database from what is readable of a damaged one",
		Details: `
Reads the damaged database at SRC as far as possible, and writes a new one to
DST, which must be missing or empty. SRC does not change. No process may have it
open.

If you have a backup, prefer it. The report says what is lost: values, by their
keys, and ranges of keys in which keys may be missing, older than their last
value, or back although they were deleted. Keep SRC until you have read it. An
interrupt stops the command and removes DST. Collections of package record and
feeds of package feed that have lost something say so when they are opened:
"stoat record reindex" makes them usable. An encrypted database needs its key,
which DST gets, too.

Exit codes: 0 if nothing is lost, 4 if something is lost, which the report
lists; any other as in "stoat help", and then there is nothing at DST.`,
		Min: 2, Max: 2,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return salvage(ctx, s, args[0], args[1], *asJSON)
		},
	}
}

// salvage makes a new database of a damaged one and prints the report.
func salvage(ctx context.Context, s *stdio, src, dst string, asJSON bool) error {
	if src == "" || dst == "" {
		return cmdline.Usagef("the name of the database is empty")
	}
	report, err := salvageWatched(ctx, s, src, dst)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w; nothing was kept", errInterrupted)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database at %s: check the path (%w)", src, err)
	case errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("nothing can be saved: %v; restore a backup", err)
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

// salvageWatched salvages with a progress line on a terminal.
func salvageWatched(
	ctx context.Context, s *stdio, src, dst string,
) (report *stoat.SalvageReport, err error) {
	done := make(chan struct{})
	go func() {
		report, err = stoat.SalvageWithKey(ctx, src, dst, s.key)
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
			// Only the size of the output tells the progress; Salvage reports errors itself.
			if _, size, err := diskUsage(dst); err == nil {
				line.Add(max(0, size-line.Done()))
			}
		}
	}
}
