package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/replica"
)

func createCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.deviceFlag(flags)
	o.databaseFlag(flags)
	asJSON := jsonFlag(flags)
	var roots []replica.DeviceID
	flags.Func("root", "a founding device, by its `ID`; repeatable; default: this one",
		func(text string) error {
			id, err := parseDevice(text)
			roots = append(roots, id)
			return err
		})
	quorum := flags.Int("quorum", 1, "the `NUMBER` of roots that must agree to grants of roots")
	return &command{
		Name: "create", Arguments: "DB NAME", Summary: "create a space, in a new database if need be",
		Details: `
NAME is what the space is called in this database only. Others join it by the id
that is printed. The roots may do everything, and grant rights to others. With
-quorum, other roots must "stoat replica endorse" what one grants.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			if *quorum < 1 || *quorum > max(len(roots), 1) {
				return cmdline.Usagef("-quorum is %d: want 1 to the number of roots", *quorum)
			}
			return found(s, o, args[0], args[1], *asJSON, func(db *stoat.DB, opts *replica.Options) (
				*replica.Space, error,
			) {
				opts.Roots, opts.Quorum = roots, *quorum
				return replica.Create(db, args[1], opts)
			})
		},
	}
}

func joinCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.deviceFlag(flags)
	o.databaseFlag(flags)
	asJSON := jsonFlag(flags)
	var collections string
	textFlag(flags, &collections, "collections", "hold only these collections, with commas between")
	return &command{
		Name: "join", Arguments: "DB NAME SPACE",
		Summary: "join a space by its id, in a new database if need be",
		Details: `
NAME is what the space is called in this database only. What others wrote comes
with the first sync or import.`,
		Min: 3, Max: 3, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			id, err := replica.ParseSpaceID(args[2])
			if err != nil {
				return cmdline.Usagef("SPACE: %v", err)
			}
			var holds []string
			if collections != "" {
				holds = namesOf(collections)
			}
			if slices.Contains(holds, "") {
				return cmdline.Usagef("-collections has an empty name: %q", collections)
			}
			if device, err := loadKeyFile(o.device); err == nil && replica.DeviceID(id) == device.ID() {
				return cmdline.Usagef("SPACE is this device: give the id that \"stoat replica create\" printed")
			}
			return found(s, o, args[0], args[1], *asJSON, func(db *stoat.DB, opts *replica.Options) (
				*replica.Space, error,
			) {
				opts.Collections = holds
				return replica.Join(db, args[1], id, opts)
			})
		},
	}
}

// namesOf returns the names in a list with commas between.
func namesOf(list string) (all []string) {
	for name := range strings.SplitSeq(list, ",") {
		all = append(all, strings.TrimSpace(name))
	}
	return all
}

// found makes a replica of a space in a database that may be new, and prints the id.
func found(s *stdio, o *target, dir, name string, asJSON bool,
	fn func(*stoat.DB, *replica.Options) (*replica.Space, error),
) error {
	device, err := requireKeyFile(o.device)
	if err != nil {
		return err
	}
	if err := rehearse(device, fn); err != nil {
		return err
	}
	db, err := o.openDB(dir, &stoat.Options{})
	if err != nil {
		return err
	}
	space, err := fn(db, &replica.Options{Device: device})
	if errors.Is(err, replica.ErrExists) {
		err = alreadyThere(db, name)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if asJSON {
		return writeJSON(s, struct {
			Space  string `json:"space"`
			Name   string `json:"name"`
			Device string `json:"device"`
		}{space.ID().String(), space.Name(), device.ID().String()})
	}
	_, err = fmt.Fprintln(s.out, space.ID())
	return err
}

// rehearse makes a replica in memory: what is wrong with the arguments shows before there is a
// database.
func rehearse(device *replica.Device,
	fn func(*stoat.DB, *replica.Options) (*replica.Space, error),
) error {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		return err
	}
	_, err = fn(db, &replica.Options{Device: device})
	return errors.Join(err, db.Close())
}

// alreadyThere returns the error for a space whose name another one has.
func alreadyThere(db *stoat.DB, name string) error {
	space, err := replica.Open(db, name, nil)
	if err != nil {
		return err
	}
	return fmt.Errorf("the space %q exists already, with the id %s: choose another name", name,
		space.ID())
}
