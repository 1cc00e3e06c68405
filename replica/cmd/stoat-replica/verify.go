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
	asJSON := jsonFlag(flags)
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
				v, err := verify(ctx, s, space, tx, *quick)
				switch {
				case err != nil:
					return err
				case *asJSON:
					return writeJSON(s, v)
				}
				return v.print(s, *quick)
			})
		},
	}
}

// verifiedJSON is what was checked.
type verifiedJSON struct {
	Name    string `json:"name"`
	Space   string `json:"space"`
	Entries int64  `json:"entries"` // whose chains and seals hold
	// Same says that the entries make the state that is stored, and Skipped why that was not checked.
	Same    bool   `json:"same"`
	Skipped string `json:"skipped,omitempty"`
}

// verify checks a space.
func verify(ctx context.Context, s *stdio, space *replica.Space, tx *stoat.Tx, quick bool) (
	v *verifiedJSON, err error,
) {
	v = &verifiedJSON{Name: space.Name(), Space: space.ID().String()}
	err = space.Verify(ctx, tx, func(n uint64) { v.Entries += int64(n) })
	if err != nil {
		return nil, err
	}
	if v.Skipped, err = incomparable(space, tx, quick); err != nil || v.Skipped != "" {
		return v, err
	}
	v.Same, err = rebuilds(ctx, s, space, tx)
	if err == nil && !v.Same {
		err = fmt.Errorf("the entries make another state than the one that is stored: %w: join the "+
			"space in a new database, and import or sync it from here", stoat.ErrCorrupt)
	}
	return v, err
}

// incomparable returns why the state cannot be compared with what the entries make, or nothing.
func incomparable(space *replica.Space, tx *stoat.Tx, quick bool) (why string, err error) {
	status, err := measure(space, tx)
	switch {
	case err != nil:
		return "", err
	case quick:
		return "only the entries were to be checked", nil
	case status.Unsealed > 0:
		return entriesText(int64(status.Unsealed)) + " not sealed yet, sync or export first", nil
	case status.Pruned:
		return "the history that makes it was pruned here", nil
	case status.Holds != nil || len(status.Withheld) > 0:
		return "content of some collections is not here", nil
	}
	return "", nil
}

// print prints for people what was checked.
func (v *verifiedJSON) print(s *stdio, quick bool) error {
	_, err := fmt.Fprintf(s.out, "the chains and the seals of %s hold\n", entriesText(v.Entries))
	switch {
	case err != nil || quick:
	case v.Skipped != "":
		_, err = fmt.Fprintf(s.out, "the state is not compared: %s\n", v.Skipped)
	default:
		_, err = fmt.Fprintln(s.out, "the state is what they make")
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
