package main

import (
	"context"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
)

func unpinCommand() *command {
	return &command{
		Name: "unpin", Arguments: "STORE NAME", Summary: "remove a pin",
		Details: `
What only the pin has kept, the writer deletes later.`,
		Min: 2, Max: 2, Flags: cmdline.NewFlags(),
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			if _, err := findPin(ctx, store, args[1]); err != nil {
				return err
			}
			return remote.Unpin(ctx, store, args[1])
		},
	}
}
