package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
)

func getCommand() *command {
	flags := cmdline.NewFlags()
	bucket := flags.String("bucket", "", "the `PATH` of the bucket; names are joined by slashes")
	return &command{
		Name: "get", Arguments: "STORE KEY", Summary: "print the value of a key",
		Details: `
Prints the value byte for byte, without a newline after it. Only the parts of
tables that this takes are read. If there is no such key, the exit code is 3.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			return s.view(ctx, args[0], *bucket, func(b stoat.KeySpace) error {
				value, err := b.Get([]byte(args[1]))
				if errors.Is(err, stoat.ErrNotFound) {
					return fmt.Errorf("%s: %w", strconv.Quote(args[1]), err)
				}
				if err == nil {
					_, err = s.out.Write(value)
				}
				return err
			})
		},
	}
}

// view runs fn with a bucket of the database in a store, as it is now.
func (s *stdio) view(
	ctx context.Context, store, bucket string, fn func(b stoat.KeySpace) error,
) error {
	path, err := bucketpath.Parse(bucket)
	if err != nil {
		return cmdline.Usagef("-bucket %s: %v", bucket, err)
	}
	return s.read(ctx, store, time.Minute, func(r *remote.Reader) error {
		return r.View(func(tx *stoat.Tx) error {
			var in stoat.KeySpace = tx
			for _, name := range path {
				b, err := in.Bucket([]byte(name))
				if err != nil {
					return fmt.Errorf("-bucket %s: %w", bucket, err)
				}
				in = b
			}
			if err := fn(in); err != nil {
				return err
			}
			return tx.Err()
		})
	})
}
