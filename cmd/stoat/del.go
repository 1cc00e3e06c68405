package main

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func delCommand() *command {
	flags := cmdline.NewFlags()
	from := bucketFlag(flags)
	f := new(format)
	f.inputFlags(flags)
	return &command{
		Name:      "del",
		Arguments: "DB KEY...",
		Summary:   "delete keys",
		Details: `
Deletes all keys in one transaction. If some keys do not exist, the command
names them and exits with 3; the others are deleted anyway.`,
		Min: 2, Max: cmdline.Unlimited,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			return del(s, args[0], *from, f, args[1:])
		},
	}
}

func del(s *stdio, db string, from path, f *format, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	keys := make([][]byte, len(args))
	for i, arg := range args {
		var err error
		if keys[i], err = f.decodeKey(arg); err != nil {
			return err
		}
	}
	// Opening for writing would create the database; only the bucket has to be found.
	err := view(s, db, func(tx *stoat.Tx) error {
		_, err := from.find(tx)
		return err
	})
	if err != nil {
		return err
	}
	var missing [][]byte
	err = update(s, db, func(tx *stoat.Tx) error {
		b, err := from.find(tx)
		if err != nil {
			return err
		}
		missing, err = delKeys(b, keys)
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	for _, key := range missing[:len(missing)-1] {
		fmt.Fprintf(s.err, "stoat: %s: %v\n", quote(key), stoat.ErrNotFound)
	}
	return fmt.Errorf("%s: %w", quote(missing[len(missing)-1]), stoat.ErrNotFound)
}

// delKeys deletes the keys and returns the ones that did not exist.
func delKeys(b stoat.KeySpace, keys [][]byte) (missing [][]byte, err error) {
	for _, key := range keys {
		there, err := b.Has(key)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, key)
			continue
		}
		if err := b.Delete(key); err != nil {
			return nil, err
		}
	}
	return missing, nil
}
