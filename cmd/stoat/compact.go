package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

func compactCommand() *command {
	return &command{
		Name:      "compact",
		Arguments: "DB",
		Summary:   "make the files as small and as fast to scan as possible",
		Details: `
Rewrites up to all of the data, into one sorted run. The database does not need
this: it helps before the directory is copied, or when it will only be read from
now on. An interrupt stops it and keeps what is done.`,
		Min: 1, Max: 1,
		Flags: cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return compact(ctx, s, args[0])
		},
	}
}

// compact compacts an existing database and prints the outcome.
func compact(ctx context.Context, s *stdio, dir string) error {
	// Opening for writing would create the database.
	if err := view(s, dir, func(*stoat.Tx) error { return nil }); err != nil {
		return err
	}
	_, before, err := diskUsage(dir)
	if err != nil {
		return err
	}
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	if err := closeAfter(s, db, compactWatched(ctx, s, db)); err != nil {
		return err
	}
	_, after, err := diskUsage(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s before, %s after\n",
		progress.Bytes(float64(before)), progress.Bytes(float64(after)))
	return err
}

// compactWatched compacts with a progress line on a terminal.
func compactWatched(ctx context.Context, s *stdio, db *stoat.DB) error {
	done := make(chan error, 1)
	go func() { done <- db.Compact(ctx) }()
	line := newProgress(s, "compact", 0)
	defer line.Finish()
	ticker := time.NewTicker(progress.Interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if err != nil && ctx.Err() != nil {
				return fmt.Errorf("%w; what is done stays done", errInterrupted)
			}
			return err
		case <-ticker.C:
			line.Add(int64(db.Stats().MergedBytes) - line.Done())
		}
	}
}

// compactLoaded compacts a database that a load has left with much to do. Everything is stored by
// now, so a failure is a warning, and an interrupt not even that.
func compactLoaded(ctx context.Context, s *stdio, db *stoat.DB) error {
	if !intake.LeavesMuch(db) {
		return nil
	}
	err := compactWatched(ctx, s, db)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	_, err = fmt.Fprintf(s.err, "stoat: warning: everything is stored, but not compacted: %v\n", err)
	return err
}
