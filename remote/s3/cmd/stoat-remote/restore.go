package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

// moment is the flags that say what to restore; at most one of them.
type moment struct {
	commit    uint64
	time, pin string
}

func restoreCommand() *command {
	flags := cmdline.NewFlags()
	m := momentFlags(flags)
	addPlain(flags)
	return &command{
		Name: "restore", Arguments: "STORE DIR", Summary: "make a copy of the database",
		Details: `
Fills DIR, which must be new or empty, and verifies all of it. The copy is a
database of its own: it does not continue the one in the store. (To continue
that one on another machine, open an empty folder with remote.Open.)

It is of the newest commit, unless a flag says which; "stoat remote status"
shows the oldest one, and "stoat remote pins" those that are pinned.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if args[1] == "" {
				return cmdline.Usagef("the name of the directory is empty")
			}
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			o, err := m.options(ctx, store)
			if err != nil {
				return err
			}
			o.Key = s.dirKey
			read, err := restore(ctx, s, store, args[1], o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s from the store\n", progress.Bytes(float64(read)))
			return err
		},
	}
}

// momentFlags adds the flags that say as of when.
func momentFlags(flags *flag.FlagSet) *moment {
	m := &moment{}
	flags.Uint64Var(&m.commit, "commit", 0, "as it was after commit `N`")
	flags.StringVar(&m.time, "time", "", "as it was shipped by `TIME`, such as 2026-01-31T23:59:00Z")
	flags.StringVar(&m.pin, "pin", "", "as it was when the pin `NAME` was made")
	return m
}

// options returns what the flags ask for.
func (m *moment) options(
	ctx context.Context, store objstore.Store,
) (*remote.RestoreOptions, error) {
	o := &remote.RestoreOptions{Commit: m.commit}
	switch {
	case m.commit > 0 && m.time+m.pin != "", m.time != "" && m.pin != "":
		return nil, cmdline.Usagef("-commit, -time and -pin exclude each other")
	case m.time != "":
		at, err := time.Parse(time.RFC3339, m.time)
		if err != nil {
			return nil, cmdline.Usagef("-time %s must be like 2026-01-31T23:59:00Z", m.time)
		}
		o.Time = at
	case m.pin != "":
		pin, err := findPin(ctx, store, m.pin)
		if err != nil {
			return nil, err
		}
		if pin.Commit == 0 {
			return nil, fmt.Errorf("the pin %s is of a database without a commit", m.pin)
		}
		o.Commit = pin.Commit
	}
	return o, nil
}

// restore makes a copy of the database in a store, and returns how many bytes it has read.
func restore(
	ctx context.Context, s *stdio, store objstore.Store, dir string, o *remote.RestoreOptions,
) (read int64, err error) {
	t := watched(s, store, "restore", restoreBytes(ctx, s, store))
	defer t.finish()
	err = remote.Restore(ctx, t, dir, o)
	return t.line.Done(), err
}

// restoreBytes returns about how much a restore reads, if anybody sees its progress; otherwise 0.
func restoreBytes(ctx context.Context, s *stdio, store objstore.Store) int64 {
	if terminal(s.err) == nil {
		return 0
	}
	info, err := remote.Inspect(ctx, store)
	if err != nil {
		return 0 // a copy can be made even if a pin is damaged
	}
	needed := allOf(info).Bytes - info.Past.Bytes
	if info.Origin != nil {
		needed += info.Origin.Needed.Bytes
	}
	return needed
}
