package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// selection is the flags that select the keys of a bucket and their order.
type selection struct {
	in                 *path
	prefix, start, end string
	reverse            bool
	limit              int
	expires            bool
	format             format
}

// selectionHelp is the help that scan and keys share, around the JSON that each prints.
const selectionHelp = `
-prefix, -start and -end combine. Keys and values are printed byte for byte; on
a terminal, those that are not plain text are quoted. Programs should read
-json, which is unambiguous for all bytes:

  %s

"bucket" is omitted for the root bucket; "key64" and "value64" hold base64 if
the bytes are not valid UTF-8; "expires" is there if the key expires. -expires
adds the time to lines of text too, after the key.`

// selectionFlags adds the flags of a selection.
func selectionFlags(flags *flag.FlagSet) *selection {
	c := &selection{in: bucketFlag(flags)}
	c.rangeFlags(flags)
	flags.BoolVar(&c.expires, "expires", false, "print behind the key when it expires, or never")
	c.format.flags(flags)
	return c
}

// rangeFlags adds the flags that narrow the range of keys.
func (c *selection) rangeFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.prefix, "prefix", "", "only keys that begin with `P`")
	flags.StringVar(&c.start, "start", "", "only keys from `S` on")
	flags.StringVar(&c.end, "end", "", "only keys below `E`")
	flags.BoolVar(&c.reverse, "reverse", false, "from the last key to the first")
	flags.IntVar(&c.limit, "limit", 0, "stop after `N` keys; 0 means no limit")
}

// keyRange returns the range of keys that the flags ask for.
func (c *selection) keyRange() (stoat.Range, error) {
	if err := c.format.check(); err != nil {
		return stoat.Range{}, err
	}
	if c.limit < 0 {
		return stoat.Range{}, cmdline.Usagef("-limit %d is negative; 0 means no limit", c.limit)
	}
	var bounds [3][]byte
	for i, arg := range []string{c.prefix, c.start, c.end} {
		var err error
		if bounds[i], err = c.format.decode(arg); err != nil {
			return stoat.Range{}, err
		}
	}
	r := narrow(stoat.Prefix(bounds[0]), bounds[1], bounds[2])
	r.Reverse, r.Limit = c.reverse, c.limit
	return r, nil
}

// narrow returns the part of r between start and end; an empty bound has no effect.
func narrow(r stoat.Range, start, end []byte) stoat.Range {
	if bytes.Compare(start, r.Start) > 0 {
		r.Start = start
	}
	if len(end) > 0 && (len(r.End) == 0 || bytes.Compare(end, r.End) < 0) {
		r.End = end
	}
	return r
}

// scan prints the entries of the selection.
func (c *selection) scan(s *stdio, db string) error {
	return c.read(s, db, func(b stoat.KeySpace, r stoat.Range) error {
		return eachEntry(context.Background(), b, r, func(e *entry) error { return c.print(s, e) })
	})
}

// keys prints the keys of the selection.
func (c *selection) keys(s *stdio, db string) error {
	return c.read(s, db, func(b stoat.KeySpace, r stoat.Range) error {
		if c.expires || c.format.json {
			return eachEntry(context.Background(), b, r, func(e *entry) error {
				return c.print(s, &entry{key: e.key, expires: e.expires})
			})
		}
		for key := range b.Keys(r) {
			if err := c.print(s, &entry{key: key}); err != nil {
				return err
			}
		}
		return nil
	})
}

// read runs fn with the bucket and the range of the selection.
func (c *selection) read(
	s *stdio, db string, fn func(b stoat.KeySpace, r stoat.Range) error,
) error {
	r, err := c.keyRange()
	if err != nil {
		return err
	}
	return view(s, db, func(tx *stoat.Tx) error {
		b, err := c.in.find(tx)
		if err != nil {
			return err
		}
		return fn(b, r)
	})
}

// print writes an entry, or its key alone if the value is nil.
func (c *selection) print(s *stdio, e *entry) error {
	if c.format.json {
		return entryRecord(*c.in, e).write(s.out)
	}
	line := c.format.item(e.key, s.outTerminal)
	if c.expires {
		line += "\t" + expiryText(e.expires)
	}
	if e.value != nil {
		line += "\t" + c.format.item(e.value, s.outTerminal)
	}
	_, err := fmt.Fprintln(s.out, line)
	return err
}
