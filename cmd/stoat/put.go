package main

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// valueBytesMax is the size of the largest value.
const valueBytesMax = 1 << 30

func putCommand() *command {
	flags := cmdline.NewFlags()
	into := bucketFlag(flags)
	f := new(format)
	f.inputFlags(flags)
	ttl := new(timeToLive)
	flags.Var(ttl, "ttl", "the key expires after `TIME`, like 90s, 1h30m, 7d; else it stays")
	return &command{
		Name:      "put",
		Arguments: "DB KEY VALUE",
		Summary:   "store a value under a key",
		Details: `
Creates the database and the bucket if necessary. If VALUE is -, the value is
read from standard input; -hex and -base64 apply to that too. When the command
returns, the value is safe on disk. Without -ttl the key does not expire, even
if its earlier value would have; see "stoat help ttl".`,
		Min: 3, Max: 3,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			return put(s, args[0], *into, f, time.Duration(*ttl), args[1:])
		},
	}
}

// put stores the key and the value given as arguments. The key does not expire if the time to live
// is 0.
func put(s *stdio, db string, into path, f *format, ttl time.Duration, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	key, err := f.decodeKey(args[0])
	if err != nil {
		return err
	}
	value, err := readValue(s, f, args[1])
	if err != nil {
		return err
	}
	return update(s, db, func(tx *stoat.Tx) error {
		b, err := into.create(tx)
		if err != nil {
			return err
		}
		if ttl > 0 {
			return b.PutTTL(key, value, ttl)
		}
		return b.Put(key, value)
	})
}

// readValue returns the value that an argument means.
func readValue(s *stdio, f *format, arg string) ([]byte, error) {
	if arg != "-" {
		return f.decode(arg)
	}
	inputMax := int64(valueBytesMax)
	if f.hex || f.base64 {
		inputMax = 2*valueBytesMax + 2
	}
	value, err := io.ReadAll(io.LimitReader(s.in, inputMax+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if int64(len(value)) > inputMax {
		return nil, fmt.Errorf("standard input: %w: a value has at most 1 GiB", stoat.ErrTooLarge)
	}
	if f.hex || f.base64 {
		return f.decode(string(bytes.TrimSpace(value)))
	}
	return value, nil
}
