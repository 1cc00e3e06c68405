package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

// defaultRetention is that of package remote.
const defaultRetention = 7 * 24 * time.Hour

func gcCommand() *command {
	flags := cmdline.NewFlags()
	retention := flags.Duration("retention", defaultRetention,
		"keep what restores the commits of this `TIME`")
	addPlain(flags)
	return &command{
		Name: "gc", Arguments: "DIR STORE", Summary: "delete what is too old to be kept",
		Details: `
Takes the role of the writer: no other program may have the database in DIR
open, and one that ships to the store from elsewhere loses the role. A program
that has the database open deletes by itself, so this is for databases that are
rarely written. What is pinned stays. If something of the past is kept, the
command says why, and until when.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if *retention <= 0 {
				return cmdline.Usagef("-retention %v must be more than 0, such as 168h", *retention)
			}
			if _, err := s.databaseBytes(args[0]); err != nil {
				return err
			}
			store, err := s.openStore(ctx, args[1])
			if err != nil {
				return err
			}
			before, err := remote.Inspect(ctx, store)
			if err != nil {
				return err
			}
			deleted := 0
			t := watched(s, store, "gc", 0)
			defer t.finish()
			err = s.write(ctx, t, args[0], *retention, "gc", func(db *remote.DB) (err error) {
				deleted, err = collect(ctx, db)
				return err
			})
			if err != nil {
				return err
			}
			t.finish()
			after, err := remote.Inspect(ctx, store)
			if err != nil {
				return err
			}
			freed := max(0, allOf(before).Bytes-allOf(after).Bytes)
			_, err = fmt.Fprintf(s.out, "deleted %s, %s\n%s\n", progress.Counted(int64(deleted), "object"),
				progress.Bytes(float64(freed)), kept(after, *retention, time.Now()))
			return err
		},
	}
}

// kept says what of the past is left after a collection.
func kept(info *remote.Info, retention time.Duration, now time.Time) string {
	if info.Past.Objects == 0 {
		return "nothing is left but what the newest commit needs"
	}
	return fmt.Sprintf("kept of the past %s, %s: %s",
		progress.Counted(int64(info.Past.Objects), "object"), progress.Bytes(float64(info.Past.Bytes)),
		keptFor(info, retention, now))
}

// keptFor says why something of the past is kept after a collection, and until when.
func keptFor(info *remote.Info, retention time.Duration, now time.Time) string {
	var why []string
	if until := info.Newest.Time.Add(retention); until.After(now) {
		why = append(why, fmt.Sprintf("the commits before the newest one can be restored for %v, so the "+
			"last of it goes with a gc after %s", retention, timeText(until)))
	}
	if len(info.Pins) > 0 {
		oldest := slices.MinFunc(info.Pins, func(a, b remote.PinInfo) int {
			return cmp.Compare(a.Commit, b.Commit)
		})
		why = append(why, fmt.Sprintf("what restores commit %s and all after it stays until the pin %s "+
			"is removed", progress.Count(int64(oldest.Commit)), oldest.Name))
	}
	if len(why) == 0 {
		why = append(why, "it is newer than this collection, and for the next one")
	}
	return strings.Join(why, "; ")
}

// collect deletes until there is nothing to delete.
func collect(ctx context.Context, db *remote.DB) (deleted int, err error) {
	if err := db.Ship(ctx); err != nil {
		return 0, err
	}
	for {
		n, err := db.Collect(ctx)
		deleted += n
		if err != nil || n == 0 {
			return deleted, errors.Join(err, context.Cause(ctx))
		}
	}
}
