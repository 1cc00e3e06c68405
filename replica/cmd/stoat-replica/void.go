package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
)

func voidCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "void", Arguments: "DB", Summary: "list entries that do not count, and why",
		Details: `
Nothing is lost: "stoat replica adopt" does again what such an entry did, in the
name of this device. Entries whose changes count elsewhere, because they were
adopted, are marked "repeated".`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				t := &columns.Table{Out: s.out, Widths: []int{shortDigits + 6, shortDigits}}
				for v, err := range space.Void(tx) {
					if err == nil && *asJSON {
						err = writeJSON(s, v)
					} else if err == nil {
						err = t.Row(shortEntry(v.EntryID), short(v.Device), voidText(v))
						if err == nil {
							err = paragraph(s, v.Reason)
						}
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// voidText returns what does not count.
func voidText(v *replica.Void) string {
	var parts []string
	if v.Repeated {
		parts = append(parts, "repeated;")
	}
	for _, name := range v.Collections {
		parts = append(parts, quote(name))
	}
	if v.Act != "" {
		parts = append(parts, v.Act)
	}
	return strings.Join(parts, " ")
}

func adoptCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "adopt", Arguments: "DB LOG[:SEQ]", Summary: "do again what void entries did",
		Details: `
With LOG, all void entries of a log; with LOG:SEQ, one. This device answers for
them, and needs the right to write them. They happen now, after everything that
this replica has.

Grants, revocations and endorsements behind a fork are made again only in a
database of the device that made them, and only if it may make them now. Those
that something revoked since, by this branch or by others, are left.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return db.Update(func(tx *stoat.Tx) error {
					log, from, alone, err := findPlace(space, tx, args[1])
					if err != nil {
						return err
					}
					to := from + 1
					if alone {
						to = math.MaxUint64
					}
					done, err := space.Adopt(tx, log.Log, from, to)
					if err == nil {
						_, err = fmt.Fprintf(s.out, "adopted %s; %d had been adopted before\n",
							entriesText(int64(done.Entries)), done.Before)
					}
					if err == nil && done.Left > 0 {
						_, err = fmt.Fprintf(s.out, "left %s with grants, revocations or "+
							"endorsements: see \"stoat replica help adopt\"\n",
							entriesText(int64(done.Left)))
					}
					return err
				})
			})
		},
	}
}
