package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// ttlFlags is the flags of ttl.
type ttlFlags struct {
	in     *path
	format format
	set    timeToLive
	stay   bool
}

func ttlCommand() *command {
	flags := cmdline.NewFlags()
	o := &ttlFlags{in: bucketFlag(flags)}
	o.format.inputFlags(flags)
	flags.BoolVar(&o.format.json, "json", false, "print JSON: when the key expires")
	flags.Var(&o.set, "set", "let the key expire after `TIME`, like 90s, 1h30m or 7d")
	flags.BoolVar(&o.stay, "stay", false, "let the key stay for ever")
	return &command{
		Name:      "ttl",
		Arguments: "DB KEY",
		Summary:   "print or change when a key expires",
		Details: `
Prints the time until the key expires, like 59m3.5s, or never. If the key does
not exist, or has expired, the exit code is 3. -set and -stay change the time,
print nothing, and leave the value as it is. With -json the time is absolute:

  {"key":"text","expires":"2030-01-02T15:04:05.678Z"}

A key that does not expire has no "expires".`,
		Min: 2, Max: 2,
		Flags: flags,
		Run:   func(s *stdio, args []string) error { return o.run(s, args[0], args[1]) },
	}
}

// run prints or changes the time to live of a key.
func (o *ttlFlags) run(s *stdio, db, arg string) error {
	if err := o.format.check(); err != nil {
		return err
	}
	changes := o.stay || o.set > 0
	if o.stay && o.set > 0 || changes && o.format.json {
		return cmdline.Usagef("-set, -stay and -json exclude each other")
	}
	key, err := o.format.decodeKey(arg)
	if err != nil {
		return err
	}
	// Opening for writing would create the database.
	err = view(s, db, func(tx *stoat.Tx) error {
		b, err := o.in.find(tx)
		if err != nil {
			return err
		}
		if changes {
			_, err = expiryOf(b, key)
			return err
		}
		return o.print(s, b, key)
	})
	if err == nil && changes {
		err = update(s, db, func(tx *stoat.Tx) error { return o.change(tx, key) })
	}
	if errors.Is(err, stoat.ErrNotFound) {
		return fmt.Errorf("%s: %w", quote(key), err)
	}
	return err
}

// print writes when the key expires.
func (o *ttlFlags) print(s *stdio, b stoat.KeySpace, key []byte) error {
	at, err := expiryOf(b, key)
	if err != nil {
		return err
	}
	if o.format.json {
		return entryRecord(*o.in, &entry{key: key, expires: at}).write(s.out)
	}
	text := "never"
	if !at.IsZero() {
		text = max(time.Until(at), 0).Round(time.Millisecond).String()
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}

// change stores the same value with a new time of expiry.
func (o *ttlFlags) change(tx *stoat.Tx, key []byte) error {
	b, err := o.in.find(tx)
	if err != nil {
		return err
	}
	value, err := b.Get(key)
	switch {
	case err != nil:
		return err
	case o.stay:
		return b.Put(key, value)
	}
	return b.PutTTL(key, value, time.Duration(o.set))
}
