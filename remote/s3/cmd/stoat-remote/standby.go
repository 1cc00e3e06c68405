package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

// triggerEvery is how often a standby looks for its trigger.
const triggerEvery = 50 * time.Millisecond

func standbyCommand() *command {
	flags := cmdline.NewFlags()
	trigger := flags.String("trigger", "", "take over once `FILE` exists")
	addPlain(flags)
	return &command{
		Name: "standby", Arguments: "STORE DIR", Summary: "follow the database, and take over",
		Details: `
Follows the database as it is shipped, and leaves its writer alone until FILE
exists, which whoever decides to fail over creates; the command does not remove
it. Takes the role of the writer then, in some round trips, makes DIR the
database, and ends. DIR must be missing or empty. Programs open it with
remote.Open; files that are in the store stay there.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if *trigger == "" || args[1] == "" {
				return cmdline.Usagef("DIR and -trigger FILE must be named")
			}
			if err := wantVacant(args[1]); err != nil {
				return err
			}
			return s.read(ctx, args[0], time.Second, func(r *remote.Reader) error {
				if err := awaitFile(ctx, *trigger); err != nil {
					return err
				}
				return takeOver(ctx, s, r, args[1])
			})
		},
	}
}

// wantVacant returns an error if DIR is a file or a database: now, and not when it is time to take
// over.
func wantVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if slices.ContainsFunc(entries, isManifest) {
		err = fmt.Errorf("there is a database at %s: DIR must be missing or empty", dir)
	}
	return err
}

// awaitFile returns once a file exists.
func awaitFile(ctx context.Context, name string) error {
	ticker := time.NewTicker(triggerEvery)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// takeOver makes a reader the writer, with a folder that a program can open afterwards.
func takeOver(ctx context.Context, s *stdio, r *remote.Reader, dir string) error {
	host, _ := os.Hostname() // people can do without
	var db *remote.DB
	err := s.patiently(func() error { return r.Status().Failed }, func() (err error) {
		db, err = r.TakeOver(ctx, dir, &remote.Options{
			Database: s.database(), Writer: "stoat remote standby " + host, CloseTimeout: closeTimeout,
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "took over at commit %s: open %s with remote.Open\n",
		progress.Count(int64(db.Status().Commit)), dir)
	return err
}
