package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

func verifyCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	quick := flags.Bool("quick", false, "check the entries only, not what was made of them")
	return &command{
		Name: "verify", Arguments: "DB", Summary: "check all entries, seals, and what was made of them",
		Details: `
All entries are checked as if they had just arrived: their bytes, hashes and
seals. Then they are merged again, in memory, and the result must be the state
that the database has.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				return verify(ctx, s, space, tx, *quick)
			})
		},
	}
}

func verify(ctx context.Context, s *stdio, space *replica.Space, tx *stoat.Tx, quick bool) error {
	entries := int64(0)
	if err := space.Verify(ctx, tx, func(n uint64) { entries += int64(n) }); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "the chains and the seals of %s hold\n", entriesText(entries))
	status, err := measure(space, tx)
	switch {
	case err != nil || quick:
		return err
	case status.Unsealed > 0:
		fmt.Fprintf(s.out, "the state is not compared: %s not sealed yet, sync or export first\n",
			entriesText(int64(status.Unsealed)))
		return nil
	}
	same, err := rebuilds(ctx, s, space, tx)
	if errors.Is(err, replica.ErrPruned) {
		fmt.Fprintln(s.out, "the state is not compared: the history that makes it was pruned here")
		return nil
	}
	if err == nil && !same {
		err = fmt.Errorf("the entries make another state than the one that is stored: %w: join the "+
			"space in a new database, and import or sync it from here", stoat.ErrCorrupt)
	}
	if err == nil {
		fmt.Fprintln(s.out, "the state is what they make")
	}
	return err
}

// rebuilds reports whether the sealed entries make the state that a space has.
func rebuilds(ctx context.Context, s *stdio, space *replica.Space, tx *stoat.Tx) (bool, error) {
	device, err := replica.NewDevice()
	if err != nil {
		return false, err
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }() // it is thrown away
	again, err := replica.Join(db, "again", space.ID(), &replica.Options{Device: device})
	if err != nil {
		return false, err
	}
	line := newProgress(s, "merge", 0)
	defer line.Finish()
	r, w := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := replica.Export(ctx, space, w)
		exported <- errors.Join(err, w.CloseWithError(err))
	}()
	err = replica.Import(ctx, again, &counted{r: r, line: line})
	_ = r.CloseWithError(err) // ends the export
	if failed := <-exported; err == nil {
		err = failed
	}
	if err != nil {
		return false, err
	}
	want, err := space.Root(tx)
	if err != nil {
		return false, err
	}
	var got [32]byte
	err = db.View(func(tx *stoat.Tx) (err error) {
		got, err = again.Root(tx)
		return err
	})
	return got == want, err
}

// entriesText returns a number of entries.
func entriesText(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return progress.Count(n) + " entries"
}
