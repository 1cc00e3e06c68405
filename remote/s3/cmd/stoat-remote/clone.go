package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

// originBytesMax is the length of the longest name of an origin.
const originBytesMax = 255

func cloneCommand() *command {
	flags := cmdline.NewFlags()
	m := momentFlags(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "clone", Arguments: "STORE NEW",
		Summary: "make a database of its own, without copying files",
		Details: `
Fills the store NEW, which must be new or empty, with a clone of the database in
STORE, in some requests, however large that is. The clone reads there what both
have; nothing is changed there, except that a pin keeps it. Other commands read
the clone with -parent STORE; "stoat remote detach" makes it independent.

It is of the newest commit, unless a flag says which. If the command fails or is
killed, run it again. To give up a clone, remove NEW, and its pin in STORE:
"stoat remote status NEW" names it. With -key-file, both have the same key.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			parent, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			own, err := newStore(args[1])
			if own, err = s.decrypted(ctx, own, err); err != nil {
				return err
			}
			of, err := m.options(ctx, parent)
			if err != nil {
				return err
			}
			begun, err := remote.Clone(ctx, own, parent, &remote.CloneOptions{
				Commit: of.Commit, Time: of.Time, Name: shortened(args[0]),
			})
			switch {
			case errors.Is(err, objstore.ErrExists):
				return fmt.Errorf("%w: choose a new store", err)
			case err != nil:
				return err
			case *asJSON:
				return writeJSON(s, momentJSON{begun.Commit, timeText(begun.Time)})
			}
			_, err = fmt.Fprintln(s.out, momentText(begun))
			return err
		},
	}
}

// shortened returns a name as an origin may have it.
func shortened(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), originBytesMax)], "")
}
