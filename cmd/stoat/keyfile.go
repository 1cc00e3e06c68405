package main

import (
	"flag"
	"os"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
)

// keyFileFlag is the flag of all commands that can open encrypted databases.
const keyFileFlag = "key-file"

// keyed lets commands open databases that are encrypted.
func keyed(commands ...*command) []*command {
	for _, c := range commands {
		c.Flags.String(keyFileFlag, "",
			"`FILE` has the key of the database, in hex or binary")
	}
	return commands
}

// newKeyFileFlag is the flag of commands that encrypt with another key than the database has.
const newKeyFileFlag = "new-key-file"

// keyChoice is the flags that choose a key for what a command makes.
type keyChoice struct {
	file  *string
	plain *bool
}

// newKeyChoice adds the flags for what is made.
func newKeyChoice(flags *flag.FlagSet, what string) keyChoice {
	return keyChoice{
		flags.String(newKeyFileFlag, "", "encrypt the "+what+" with the key in `FILE`"),
		flags.Bool("plain", false, "do not encrypt the "+what),
	}
}

// read returns the key that was chosen, nil for none; chosen is false if there was no choice.
func (c keyChoice) read() (key []byte, chosen bool, err error) {
	switch {
	case *c.plain && *c.file != "":
		return nil, false, cmdline.Usagef("-plain and -%s exclude each other", newKeyFileFlag)
	case *c.file == "":
		return nil, *c.plain, nil
	}
	key, err = keyfile.Read(os.ReadFile, *c.file)
	return key, true, err
}

// readKey takes the key for the command from the file that its flag names, if it has one.
func (s *stdio) readKey(c *command) (err error) {
	f := c.Flags.Lookup(keyFileFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	s.key, err = keyfile.Read(os.ReadFile, f.Value.String())
	return err
}
