package main

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

func detachCommand() *command {
	flags := cmdline.NewFlags()
	addPlain(flags)
	return &command{
		Name: "detach", Arguments: "DIR STORE", Summary: "make a clone independent of its parent",
		Details: `
Copies the files that the clone in STORE still has in that of its parent, which
-parent names, and removes its pin there. "stoat remote status STORE" shows how
much that is. If the command fails or is killed, run it again.

Takes the role of the writer: no other program may have the database in DIR
open, and one that ships to the store from elsewhere loses the role. DIR may be
missing.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if args[0] == "" || len(s.parents) == 0 {
				return cmdline.Usagef("DIR and -%s STORE must be named", parentFlag)
			}
			store, err := s.openStore(ctx, args[1])
			if err != nil {
				return err
			}
			info, err := remote.Inspect(ctx, store)
			if err != nil {
				return err
			}
			total := int64(0)
			if info.Origin != nil {
				total = 2 * info.Origin.Needed.Bytes // each is read, and written
			}
			t := watched(s, store, "detach", total)
			defer t.finish()
			return s.write(ctx, t, args[0], 0, "detach", func(db *remote.DB) error {
				copied, err := db.Detach(ctx)
				if err != nil {
					return err
				}
				t.finish()
				_, err = fmt.Fprintf(s.out, "copied %s, %s\n",
					progress.Counted(int64(copied.Objects), "file"), progress.Bytes(float64(copied.Bytes)))
				return err
			})
		},
	}
}
