package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
	"github.com/stoatdb/stoat/replica"
)

// jsonFlag adds the flag of commands that print JSON.
func jsonFlag(flags *flag.FlagSet) *bool {
	return flags.Bool("json", false, "print JSON, one object a line")
}

// textFlag adds a flag that narrows what a command does. Its text cannot be empty, as a variable of
// a script may be, since the command would then do more than was meant.
func textFlag(flags *flag.FlagSet, to *string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		*to = text
		return errIfEmpty(text)
	})
}

// errIfEmpty returns an error for the empty text.
func errIfEmpty(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	return nil
}

// writeJSON prints an object on a line.
func writeJSON[T any](s *stdio, v T) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// target is the space that a command is about.
type target struct {
	space    string // empty: the only one
	device   string // the key file of the device
	database string // the key file of the database; empty: it is not encrypted

	key *replica.Device // once the space is open for writing
}

// spaceFlag adds the flags that choose the space and open its database.
func (o *target) spaceFlag(flags *flag.FlagSet) {
	textFlag(flags, &o.space, "space", "the `NAME` of the space, if the database has several")
	o.databaseFlag(flags)
}

// keyFileFlag is the flag for the key of an encrypted database.
const keyFileFlag = "key-file"

// databaseFlag adds keyFileFlag.
func (o *target) databaseFlag(flags *flag.FlagSet) {
	flags.StringVar(&o.database, keyFileFlag, "",
		"`FILE` has the key of the database, in hex or binary")
}

// deviceFlag adds the flag for the key file.
func (o *target) deviceFlag(flags *flag.FlagSet) {
	flags.StringVar(&o.device, "device", defaultKeyFile(), "the key `FILE` of this device")
}

// view runs fn with a snapshot of the space in an existing database, and changes nothing.
func (o *target) view(dir string, fn func(space *replica.Space, tx *stoat.Tx) error) error {
	db, err := o.openDB(dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	space, err := o.open(db, nil)
	if err == nil {
		err = db.View(func(tx *stoat.Tx) error { return fn(space, tx) })
	}
	return errors.Join(err, db.Close())
}

// update runs fn with the space in an existing database, open for writing by the device.
func (o *target) update(dir string, fn func(space *replica.Space, db *stoat.DB) error) error {
	device, err := requireKeyFile(o.device)
	if err != nil {
		return err
	}
	db, err := o.openExisting(dir)
	if err != nil {
		return err
	}
	o.key = device
	space, err := o.open(db, device)
	if err == nil {
		err = fn(space, db)
	}
	return errors.Join(err, db.Close())
}

// open opens the space in a database. The device is nil to read.
func (o *target) open(db *stoat.DB, device *replica.Device) (*replica.Space, error) {
	name, err := o.choose(db)
	if err != nil {
		return nil, err
	}
	return openSpace(db, name, device)
}

// openSpace opens a space. It refuses a device that is not the one of the replica, because the
// replica would begin a log in its name.
func openSpace(db *stoat.DB, name string, device *replica.Device) (*replica.Space, error) {
	space, err := replica.Open(db, name, nil)
	if err != nil || device == nil {
		return space, err
	}
	err = db.View(func(tx *stoat.Tx) error {
		heads, err := space.Heads(tx)
		for _, h := range heads {
			if h.Own && h.Device != device.ID() {
				return fmt.Errorf("space %q in this database belongs to the device %s, and the key file "+
					"has the device %s: give the right one with -device", name, h.Device, device.ID())
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return replica.Open(db, name, &replica.Options{Device: device})
}

// choose returns the name of the space.
func (o *target) choose(db *stoat.DB) (string, error) {
	if o.space != "" {
		return o.space, nil
	}
	var names []string
	err := db.View(func(tx *stoat.Tx) (err error) {
		names, err = replica.Spaces(tx)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", fmt.Errorf("the database has no space: create or join one (%w)", errNotFound)
	case len(names) > 1:
		for i := range names {
			names[i] = quote(names[i])
		}
		return "", cmdline.Usagef("choose with -space: %s", strings.Join(names, ", "))
	}
	return names[0], nil
}

// openExisting opens a database for writing that must exist.
func (o *target) openExisting(dir string) (*stoat.DB, error) {
	db, err := o.openDB(dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return o.openDB(dir, &stoat.Options{})
}

// openDB opens a database and says what to do if that fails.
func (o *target) openDB(dir string, opts *stoat.Options) (*stoat.DB, error) {
	if dir == "" {
		return nil, cmdline.Usagef("the name of the database is empty")
	}
	if o.database != "" {
		var err error
		if opts.Key, err = keyfile.Read(os.ReadFile, o.database); err != nil {
			return nil, err
		}
	}
	db, err := stoat.Open(dir, opts)
	inner := errors.Unwrap(err) // without the advice meant for programmers
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, stoat.ErrKey):
		return nil, fmt.Errorf("%s: %w: give the key that the database was created with by -%s, or "+
			"none if it is not encrypted", dir, inner, keyFileFlag)
	case errors.Is(err, stoat.ErrCorrupt):
		return nil, fmt.Errorf("the database at %s is damaged: %w; restore a backup, or run \"stoat "+
			"salvage\"", dir, inner)
	case errors.Is(err, fs.ErrNotExist) && opts.ReadOnly:
		return nil, fmt.Errorf("there is no database at %s: check the path, or create one with "+
			"\"stoat replica create\" or \"join\"", dir)
	case errors.Is(err, stoat.ErrLocked):
		return nil, fmt.Errorf("%s: %w: end that process first; commands that only read work "+
			"meanwhile", dir, inner)
	}
	return nil, err
}
