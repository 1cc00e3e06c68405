package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

// headJSON is the end of a log.
type headJSON struct {
	Log     string    `json:"log"`
	Device  string    `json:"device"`
	Entries uint64    `json:"entries"`
	Sealed  uint64    `json:"sealed"`
	Hash    string    `json:"hash"`
	Time    time.Time `json:"time"`
	Own     bool      `json:"own,omitempty"`
	Cut     uint64    `json:"cut,omitempty"`
}

func headsCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "heads", Arguments: "DB", Summary: "list the logs: what each device has written",
		Details: `
A log is what one device wrote to one replica. Its entries are sealed when they
leave the replica; "own" is the log that this replica writes. A log that has
forked is cut: its entries from there on do not count.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				heads, err := space.Heads(tx)
				if err == nil && *asJSON {
					return headsAsJSON(s, heads)
				}
				if err == nil {
					err = headsAsTable(s, heads)
				}
				return err
			})
		},
	}
}

func headsAsJSON(s *stdio, heads []replica.Head) error {
	for _, h := range heads {
		hash := replica.SpaceID(h.Hash).String()
		err := writeJSON(s, headJSON{h.Log.String(), h.Device.String(), h.Entries, h.Sealed, hash,
			h.Time.UTC(), h.Own, h.Cut})
		if err != nil {
			return err
		}
	}
	return nil
}

func headsAsTable(s *stdio, heads []replica.Head) error {
	t := &columns.Table{Out: s.out, Widths: []int{shortDigits, shortDigits, -11, -11, 19}}
	err := t.Row("log", "device", "entries", "sealed", "newest")
	for _, h := range heads {
		own := ""
		switch {
		case h.Own:
			own = "own"
		case h.Cut > 0:
			own = fmt.Sprintf("cut at %d", h.Cut)
		}
		if err == nil {
			err = t.Row(short(h.Log), short(h.Device), progress.Count(int64(h.Entries)),
				progress.Count(int64(h.Sealed)), clock(h.Time), own)
		}
	}
	return err
}
