package main

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote/objstore"
)

func probeCommand() *command {
	return &command{
		Name: "probe", Arguments: "STORE", Summary: "find out whether a store is fit for databases",
		Details: `
Races itself to create objects, reads them back, lists and deletes them, in some
100 requests. If the store lacks something, the error says what, and the exit
code is 4. Do it once for each new kind of server.`,
		Min: 1, Max: 1, Flags: cmdline.NewFlags(),
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := newStore(args[0])
			if err == nil {
				err = objstore.Probe(ctx, store)
			}
			if err == nil {
				_, err = fmt.Fprintln(s.out, "the store is fit")
			}
			return err
		},
	}
}
