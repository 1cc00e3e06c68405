package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

func pinCommand() *command {
	return &command{
		Name: "pin", Arguments: "STORE NAME", Summary: "keep the database as it is now",
		Details: `
The store keeps everything from there on until the pin is removed, however long
that is. A name has a to z, 0 to 9, dots, hyphens and underscores. No writer has
to run.`,
		Min: 2, Max: 2, Flags: cmdline.NewFlags(),
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			pin, err := remote.Pin(ctx, store, args[1])
			switch {
			case errors.Is(err, objstore.ErrName):
				return cmdline.Usagef("%v", err)
			case errors.Is(err, objstore.ErrExists):
				return fmt.Errorf("%w: choose another name, or remove that pin with \"stoat remote unpin\"",
					err)
			case err != nil:
				return err
			}
			_, err = fmt.Fprintln(s.out, momentText(remote.Moment{Commit: pin.Commit, Time: pin.Time}))
			return err
		},
	}
}
