package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// keyFileFlag is the flag of all commands that can open encrypted databases.
const keyFileFlag = "key-file"

// keyBytes is the size of a key.
const keyBytes = 32

// keyed lets commands open databases that are encrypted.
func keyed(commands ...*command) []*command {
	for _, c := range commands {
		c.Flags.String(keyFileFlag, "",
			"`FILE` has the key of the database, in hex or binary")
	}
	return commands
}

// readKey takes the key for the command from the file that its flag names, if it has one.
func (s *stdio) readKey(c *command) (err error) {
	f := c.Flags.Lookup(keyFileFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	s.key, err = readKeyFile(f.Value.String())
	return err
}

// readKeyFile reads a key. Errors do not quote any of it.
func readKeyFile(name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if len(content) == keyBytes {
		return content, nil
	}
	digits := bytes.TrimSpace(content)
	key := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(key, digits); err != nil || len(key) != keyBytes {
		return nil, cmdline.Usagef("the file %s is no key: it has %d bytes, and must have %d, or %d "+
			"hexadecimal digits", name, len(content), keyBytes, 2*keyBytes)
	}
	return key, nil
}
