package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

func dumpCommand() *command {
	return &command{
		Name:      "dump",
		Arguments: "DB [FILE]",
		Summary:   "write the whole database as lines of JSON",
		Details: `
Without FILE, or if it is -, the dump goes to standard output. FILE appears, or
replaces an earlier one, only when the dump is complete. The dump is one
snapshot: it has no changes that other programs make meanwhile. Its lines are

  {"stoat":2}                                       first: the format's version
  {"bucket":["a","b"],"sequence":7}                 a bucket, before its entries
  {"bucket":["a","b"],"key":"text","value":"text"}  an entry
  {"end":true}                                      last: the dump is complete

"bucket" is omitted for the root bucket, which has a line of its own only if its
sequence is not 0. Bytes that are not valid UTF-8 are written as base64, in
"bucket64", "key64" and "value64". An entry that expires also has

  "expires":"2030-01-02T15:04:05.678Z"

Version 1, written by older programs, lacks expiry; load reads both versions.`,
		Min: 1, Max: 2,
		Flags: cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			if len(args) == 1 || args[1] == "-" {
				s.errTerminal = s.errTerminal && !s.outTerminal // a bar would mix with the lines
				return dump(context.Background(), s, args[0], s.out)
			}
			return dumpFile(s, args[0], args[1])
		},
	}
}

func dumpFile(s *stdio, db, name string) error {
	ctx, stop := interruptible()
	defer stop()
	f, err := createOutfile(name)
	if err != nil {
		return err
	}
	if err := dump(ctx, s, db, f); err != nil {
		return errors.Join(err, f.discard())
	}
	return f.finish()
}

// dump writes the whole database to w.
func dump(ctx context.Context, s *stdio, dir string, w io.Writer) error {
	db, err := open(s, dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	stats := db.Stats()
	d := &dumper{
		ctx:      ctx,
		w:        w,
		progress: newProgress(s, "dump", int64(stats.RawBytes)+stats.MemtableBytes),
	}
	err = db.View(func(tx *stoat.Tx) error {
		if err := headerRecord().write(w); err != nil {
			return err
		}
		if err := d.bucket(tx, nil); err != nil {
			return err
		}
		if err := tx.Err(); err != nil {
			return err
		}
		return (&record{End: true}).write(w)
	})
	d.progress.Finish()
	return errors.Join(err, db.Close())
}

// dumper writes the records of one dump.
type dumper struct {
	ctx      context.Context
	w        io.Writer
	progress *progress.Line
}

// bucket writes a bucket and all that is in it.
func (d *dumper) bucket(b stoat.KeySpace, at path) error {
	if sequence, err := b.Sequence(); err != nil || len(at) > 0 || sequence > 0 {
		if err := errors.Join(err, writeBucket(d.w, at, b)); err != nil {
			return err
		}
	}
	err := eachEntry(d.ctx, b, stoat.Range{}, func(e *entry) error {
		d.progress.Add(int64(len(e.key) + len(e.value)))
		return entryRecord(at, e).write(d.w)
	})
	if err != nil {
		return err
	}
	for name := range b.Buckets() {
		child, err := b.Bucket(name)
		if err != nil {
			return fmt.Errorf("bucket %s: %w", at.String(), err)
		}
		if err := d.bucket(child, append(slices.Clip(at), string(name))); err != nil {
			return err
		}
	}
	return nil
}
