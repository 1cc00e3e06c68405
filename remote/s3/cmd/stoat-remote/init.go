package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

func initCommand() *command {
	flags := cmdline.NewFlags()
	addPlain(flags)
	return &command{
		Name: "init", Arguments: "DIR STORE", Summary: "ship a database to a store, and wait for it",
		Details: `
Takes the role of the writer: no other program may have the database in DIR
open, and one that ships to the store from elsewhere loses the role. The store
may be new, or already have the database as it was before. If DIR does not
continue what is in the store, nothing is changed, and the error says why.

If it is interrupted, run it again. Programs then open DIR with remote.Open.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			size, err := s.databaseBytes(args[0])
			if err != nil {
				return err
			}
			store, err := s.newStore(ctx, args[1])
			if err != nil {
				return err
			}
			t := watched(s, store, "ship", size)
			defer t.finish()
			return s.write(ctx, t, args[0], 0, "init", func(db *remote.DB) error {
				if err := db.Ship(ctx); err != nil {
					return err
				}
				t.finish()
				st := db.Status()
				_, err := fmt.Fprintf(s.out, "commit %s is in the store: %s in %s\n",
					progress.Count(int64(st.Shipped)), progress.Bytes(float64(st.Bytes)),
					progress.Counted(int64(st.Requests), "request"))
				return errors.Join(err, s.out.Flush())
			})
		},
	}
}
