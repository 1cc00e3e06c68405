package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/cryptstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	keyFileFlag    = "key-file"
	newKeyFileFlag = "new-key-file"
	plainFlag      = "plain"
)

// keyed lets commands open encrypted stores.
func keyed(commands ...*command) []*command {
	for _, c := range commands {
		c.Flags.String(keyFileFlag, "", "`FILE` has the key of the store, in hex or binary")
	}
	return commands
}

// addPlain adds the flag of commands that use a directory besides the store.
func addPlain(flags *flag.FlagSet) {
	flags.Bool(plainFlag, false, "DIR is not encrypted, even if the store is")
}

// readKey takes the keys for the command from the file that its flag names, if there is one.
func (s *stdio) readKey(c *command) (err error) {
	f := c.Flags.Lookup(keyFileFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	if s.key, err = keyfile.Read(os.ReadFile, f.Value.String()); err != nil {
		return err
	}
	s.dirKey = s.key
	if plain := c.Flags.Lookup(plainFlag); plain != nil && plain.Value.String() == "true" {
		s.dirKey = nil
	}
	return nil
}

// openStore opens the store that an argument names, which must exist, with the key and the parents
// of the command.
func (s *stdio) openStore(ctx context.Context, arg string) (objstore.Store, error) {
	store, err := openStore(arg)
	if err == nil && s.key != nil {
		err = wantObjects(ctx, arg, store) // an empty store would be encrypted with the key
	}
	store, err = s.decrypted(ctx, store, err)
	return s.withParents(ctx, store, err)
}

// wantObjects returns an error if a store is empty.
func wantObjects(ctx context.Context, arg string, store objstore.Store) error {
	listed, err := store.List(ctx, "", "", 1)
	if err == nil && len(listed) == 0 {
		err = fmt.Errorf("%s: %w", arg, remote.ErrNone)
	}
	return err
}

// newStore is openStore, but makes a folder that does not exist.
func (s *stdio) newStore(ctx context.Context, arg string) (objstore.Store, error) {
	store, err := newStore(arg)
	store, err = s.decrypted(ctx, store, err)
	return s.withParents(ctx, store, err)
}

// decrypted returns an opened store with the key of the command.
func (s *stdio) decrypted(
	ctx context.Context, store objstore.Store, err error,
) (objstore.Store, error) {
	if err != nil || s.key == nil {
		return store, err
	}
	return cryptstore.Open(ctx, store, s.key)
}

// database returns the options of the database in a directory.
func (s *stdio) database() *stoat.Options { return &stoat.Options{Key: s.dirKey} }

func rekeyCommand() *command {
	flags := cmdline.NewFlags()
	newKeyFile := flags.String(newKeyFileFlag, "", "`FILE` has the new key")
	return &command{
		Name: "rekey", Arguments: "STORE", Summary: "change the key of an encrypted store",
		Details: `
Writes one small object, and no data: the store opens with the key in
-new-key-file, and no longer with that in -key-file. Programs that have it open
go on. If the command fails or is killed, run it again. Directories keep their
keys: "stoat rekey" changes those.

Whoever has the old key and had access to the store can still read it. If that
may have happened, restore the database, and ship the copy to another store.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if s.key == nil || *newKeyFile == "" {
				return cmdline.Usagef("give the key by -%s and the new one by -%s", keyFileFlag,
					newKeyFileFlag)
			}
			newKey, err := keyfile.Read(os.ReadFile, *newKeyFile)
			if err != nil {
				return err
			}
			store, err := openStore(args[0])
			if err != nil {
				return err
			}
			if err := cryptstore.Rekey(ctx, store, s.key, newKey); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s has the new key\n", args[0])
			return err
		},
	}
}
