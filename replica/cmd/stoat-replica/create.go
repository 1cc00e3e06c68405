package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

func createCommand() *command {
	flags := newFlags()
	o := &target{}
	o.deviceFlag(flags)
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
		name: "create", arguments: "DB NAME", summary: "create a space, in a new database if need be",
		details: `
NAME is what the space is called in this database only. Others join it by the id
that is printed. The roots may do everything, and grant rights to others. With
-quorum, other roots must "stoat replica endorse" what one grants.`,
		min: 2, max: 2, flags: flags,
		run: func(_ context.Context, s *stdio, args []string) error {
			if *quorum < 1 || *quorum > max(len(roots), 1) {
				return usagef("-quorum is %d: want 1 to the number of roots", *quorum)
			}
			return found(s, o, args[0], *asJSON, func(db *stoat.DB, opts *replica.Options) (
				*replica.Space, error,
			) {
				opts.Roots, opts.Quorum = roots, *quorum
				return replica.Create(db, args[1], opts)
			})
		},
	}
}

func joinCommand() *command {
	flags := newFlags()
	o := &target{}
	o.deviceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		name: "join", arguments: "DB NAME SPACE",
		summary: "join a space by its id, in a new database if need be",
		details: `
NAME is what the space is called in this database only. What others wrote comes
with the first sync or import.`,
		min: 3, max: 3, flags: flags,
		run: func(_ context.Context, s *stdio, args []string) error {
			id, err := replica.ParseSpaceID(args[2])
			if err != nil {
				return usagef("SPACE: %v", err)
			}
			return found(s, o, args[0], *asJSON, func(db *stoat.DB, opts *replica.Options) (
				*replica.Space, error,
			) {
				return replica.Join(db, args[1], id, opts)
			})
		},
	}
}

// found makes a replica of a space in a database that may be new, and prints the id.
func found(s *stdio, o *target, dir string, asJSON bool,
	fn func(*stoat.DB, *replica.Options) (*replica.Space, error),
) error {
	device, err := requireKeyFile(o.device)
	if err != nil {
		return err
	}
	db, err := openDB(dir, nil)
	if err != nil {
		return err
	}
	space, err := fn(db, &replica.Options{Device: device})
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
