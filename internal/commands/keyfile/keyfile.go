// Package keyfile reads the files with keys of encrypted databases, for commands. It is safe for
// concurrent use.
package keyfile

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// Bytes is the size of a key.
const Bytes = cryptfs.KeyBytes

// Read returns the key in the file with a name, which a function such as os.ReadFile reads. Errors
// do not quote any of it.
func Read(file func(name string) ([]byte, error), name string) ([]byte, error) {
	content, err := file(name)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	return parse(name, content)
}

// parse returns the key that the file with a name holds: its bytes, or its hexadecimal digits.
// Errors do not quote any of it.
func parse(name string, content []byte) ([]byte, error) {
	if len(content) == Bytes {
		return content, nil
	}
	digits := bytes.TrimSpace(content)
	key := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(key, digits); err != nil || len(key) != Bytes {
		return nil, cmdline.Usagef("the file %s is no key: it has %d bytes, and must have %d, or %d "+
			"hexadecimal digits", name, len(content), Bytes, 2*Bytes)
	}
	return key, nil
}
