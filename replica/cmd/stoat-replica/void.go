package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

func voidCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		name: "void", arguments: "DB", summary: "list entries that do not count, and why",
		details: `
Nothing is lost: "stoat replica adopt" does again what such an entry did, in the
name of this device. Entries whose changes count elsewhere, because they were
adopted, are marked "repeated".`,
		min: 1, max: 1, flags: flags,
		run: func(_ context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				t := &table{s, []int{shortDigits + 6, shortDigits}}
				for v, err := range space.Void(tx) {
					if err == nil && *asJSON {
						err = writeJSON(s, v)
					} else if err == nil {
						err = t.row(shortEntry(v.EntryID), short(v.Device), voidText(v))
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

// voidText returns what does not count, and why.
func voidText(v *replica.Void) string {
	text := v.Reason
	if len(v.Collections) > 0 {
		var names []string
		for _, name := range v.Collections {
			names = append(names, quote(name))
		}
		text = strings.Join(names, ", ") + ": " + text
	}
	if v.Repeated {
		text = "repeated; " + text
	}
	return text
}

func adoptCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		name: "adopt", arguments: "DB LOG[:SEQ]", summary: "do again what void entries did",
		details: `
With LOG, all void entries of a log; with LOG:SEQ, one. This device answers for
them, and needs the right to write them. They happen now, after everything that
this replica has.`,
		min: 2, max: 2, flags: flags,
		run: func(_ context.Context, s *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return db.Update(func(tx *stoat.Tx) error {
					log, from, alone, err := findEntry(space, tx, args[1])
					if err != nil {
						return err
					}
					to := from + 1
					if alone {
						to = log.Entries
					}
					done, err := space.Adopt(tx, log.Log, from, to)
					if err == nil {
						_, err = fmt.Fprintf(s.out, "adopted %s; %d had been adopted before\n",
							entriesText(int64(done.Entries)), done.Before)
					}
					return err
				})
			})
		},
	}
}
