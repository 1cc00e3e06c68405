package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

func verifyCommand() *command {
	flags := cmdline.NewFlags()
	deep := flags.Bool("deep", false, "also restore the newest commit to a temporary directory")
	asJSON := jsonFlag(flags)
	return &command{
		Name: "verify", Arguments: "STORE", Summary: "check what is in a store",
		Details: `
Reads the log and the states from the oldest commit on that can be restored, and
looks for every file that they name. What is damaged or missing is named, and
the exit code is 4. Files are not read, unless with -deep: that reads and checks
all files of the newest commit, for which it needs as much space as they take.
A writer may run meanwhile.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			t := watched(s, store, "verify", 0)
			defer t.finish()
			v, err := remote.Verify(ctx, t)
			if err != nil {
				return err
			}
			t.finish()
			if *deep {
				if err := restoreAside(ctx, s, store); err != nil {
					return err
				}
			}
			if *asJSON {
				return writeJSON(s, verifiedJSON{
					v.Oldest, v.Newest, v.LogObjects, v.States, v.Files, v.Bytes, *deep,
				})
			}
			return printVerified(s, v, *deep)
		},
	}
}

// verifiedJSON is what was found to be whole.
type verifiedJSON struct {
	Oldest     uint64 `json:"oldest"`
	Newest     uint64 `json:"newest"`
	LogObjects uint64 `json:"log_objects"`
	States     int    `json:"states"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
	Deep       bool   `json:"deep"` // the newest commit was restored, too
}

// printVerified prints for people what was found to be whole.
func printVerified(s *stdio, v *remote.Verified, deep bool) error {
	_, err := fmt.Fprintf(s.out, "commits %s to %s: %s, %s and %s of %s\n",
		progress.Count(int64(v.Oldest)), progress.Count(int64(v.Newest)),
		progress.Counted(int64(v.LogObjects), "log object"),
		progress.Counted(int64(v.States), "state"), progress.Counted(int64(v.Files), "file"),
		progress.Bytes(float64(v.Bytes)))
	if err == nil && deep {
		_, err = fmt.Fprintln(s.out, "the newest commit was restored and checked")
	}
	return err
}

// restoreAside restores the newest commit, which checks it, and throws that away.
func restoreAside(ctx context.Context, s *stdio, store objstore.Store) (err error) {
	dir, err := os.MkdirTemp("", "stoat-remote-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, err = restore(ctx, s, store, filepath.Join(dir, "db"), &remote.RestoreOptions{Key: s.dirKey})
	return err
}
