package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/folder"
)

func restoreCommand() *command {
	flags := cmdline.NewFlags()
	choice := newKeyChoice(flags, "new database")
	return &command{
		Name:      "restore",
		Arguments: "DIR|FILE|- NEWDB",
		Summary:   "make a new database from a backup",
		Details: `
NEWDB must not exist, or be an empty directory; DIR does not change. Everything
is read and verified. To replace the old database, stop the programs that have
it open, and keep its directory under another name until you know that you do
not need it. A program that still has it open gets errors when it commits, and
leaves the new one alone. For backups of the new database, choose another
directory than DIR.

FILE is the output of "stoat backup DB -", and - reads that from standard input.
It may be compressed with gzip or zstd. If it is cut short or damaged, the exit
code is 4, and there is no database at NEWDB.

A database made of an encrypted backup has its key, unless -new-key-file or
-plain says otherwise.`,
		Min: 2, Max: 2,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			if err := wantEmpty(args[1]); err != nil {
				return err
			}
			key, chosen, err := choice.read()
			if err != nil {
				return err
			}
			if !chosen {
				key = s.key
			}
			ctx, stop := interruptible()
			defer stop()
			if info, err := os.Stat(args[0]); args[0] == "-" || err == nil && !info.IsDir() {
				return restoreStream(ctx, s, args[0], args[1], key)
			}
			c := &copying{s: s, label: "restore", to: args[1], key: key, rekeyed: chosen}
			return copyReadOnly(ctx, args[0], c, "restored %s to %s")
		},
	}
}

// wantEmpty returns an error if dir holds anything except the remains of an unfinished restore.
func wantEmpty(dir string) error {
	if dir == "" {
		return cmdline.Usagef("the name of the new database is empty")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unfinished := slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == folder.UnfinishedName
	})
	for _, e := range entries {
		if !unfinished && e.Name() != folder.LockName {
			return fmt.Errorf("%s is not empty: it has %s; choose a new name", dir, e.Name())
		}
	}
	return nil
}
