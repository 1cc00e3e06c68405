package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
)

func rekeyCommand() *command {
	flags := cmdline.NewFlags()
	newKeyFile := flags.String(newKeyFileFlag, "", "`FILE` has the new key")
	return &command{
		Name:      "rekey",
		Arguments: "DB",
		Summary:   "change the key of an encrypted database or backup",
		Details: `
Writes two small files, and no data: DB opens with the key in -new-key-file, and
no longer with that in -key-file. No process may have it open for writing. If
the command fails or is killed, one of the keys opens DB; run it again. With the
same key twice, it replaces damaged key files.

Other backups keep their keys. Who has the old key and an old copy of DB, or of
its files KEY-*, can still read DB. If that may have happened, make a new
database: "stoat backup DB NEWDB -new-key-file FILE", and use that.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			if s.key == nil || *newKeyFile == "" {
				return cmdline.Usagef("give the key by -%s and the new one by -%s", keyFileFlag,
					newKeyFileFlag)
			}
			newKey, err := keyfile.Read(os.ReadFile, *newKeyFile)
			if err != nil {
				return err
			}
			return rekey(s, args[0], newKey)
		},
	}
}

// rekey changes the key of a database.
func rekey(s *stdio, dir string, newKey []byte) error {
	if dir == "" {
		return cmdline.Usagef("the name of the database is empty")
	}
	err := stoat.Rekey(dir, s.key, newKey)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database at %s: check the path (%w)", dir, err)
	case errors.Is(err, stoat.ErrLocked):
		return fmt.Errorf("%w: end that process first", err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s has the new key\n", dir)
	return err
}
