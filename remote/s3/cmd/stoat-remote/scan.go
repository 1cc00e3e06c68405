package main

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func scanCommand() *command {
	flags := cmdline.NewFlags()
	bucket := flags.String("bucket", "", "the `PATH` of the bucket; names are joined by slashes")
	prefix := flags.String("prefix", "", "only keys that begin with `P`")
	limit := flags.Int("limit", 0, "stop after `N` keys; 0 means no limit")
	return &command{
		Name: "scan", Arguments: "STORE", Summary: "print keys and values, in the order of the keys",
		Details: `
Each line is a key, a tab and a value, byte for byte. To work with much of a
database, restore it, and use the commands of stoat.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if *limit < 0 {
				return cmdline.Usagef("-limit %d is negative; 0 means no limit", *limit)
			}
			return s.view(ctx, args[0], *bucket, func(b stoat.KeySpace) error {
				r := stoat.Prefix([]byte(*prefix))
				r.Limit = *limit
				for key, value := range b.Scan(r) {
					if _, err := fmt.Fprintf(s.out, "%s\t%s\n", key, value); err != nil {
						return err
					}
					if err := context.Cause(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
