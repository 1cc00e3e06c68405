package main

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func getCommand() *command {
	flags := cmdline.NewFlags()
	from := bucketFlag(flags)
	f := new(format)
	f.flags(flags)
	return &command{
		Name:      "get",
		Arguments: "DB KEY",
		Summary:   "print the value of a key",
		Details: `
Prints the value byte for byte, without a newline after it. On a terminal, a
value that is not plain text is quoted. If there is no such key, the exit code
is 3.`,
		Min: 2, Max: 2,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			return get(s, args[0], *from, f, args[1])
		},
	}
}

func get(s *stdio, db string, from path, f *format, arg string) error {
	if err := f.check(); err != nil {
		return err
	}
	key, err := f.decodeKey(arg)
	if err != nil {
		return err
	}
	return view(s, db, func(tx *stoat.Tx) error {
		b, err := from.find(tx)
		if err != nil {
			return err
		}
		value, err := b.Get(key)
		if errors.Is(err, stoat.ErrNotFound) {
			return fmt.Errorf("%s: %w", quote(key), err)
		}
		if err != nil {
			return err
		}
		if f.json {
			e := entry{key: key, value: value}
			if e.expires, err = expiryOf(b, key); err != nil {
				return err
			}
			return entryRecord(from, &e).write(s.out)
		}
		_, err = s.out.WriteString(f.document(value, s.outTerminal))
		return err
	})
}
