package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
)

// conflictJSON is a field with several values.
type conflictJSON struct {
	Collection string           `json:"collection"`
	Key        any              `json:"key"`
	Field      string           `json:"field"`
	Kept       bool             `json:"kept,omitempty"`
	Values     []concurrentJSON `json:"values"`
}

// concurrentJSON is one of several values; the first one shows.
type concurrentJSON struct {
	Value  any       `json:"value"`
	Time   time.Time `json:"time,omitzero"` // none of these three if a checkpoint covers it
	Device string    `json:"device,omitempty"`
	Log    string    `json:"log,omitempty"`
}

func conflictsCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "conflicts", Arguments: "DB", Summary: "list fields that several devices set concurrently",
		Details: `
The first value of each field is the one that shows, because its time is the
greatest. A conflict ends when a device that has seen all values sets the field.
"answer wanted" marks fields with the rule keep.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				for c, err := range space.Conflicts(tx) {
					if err != nil {
						return err
					}
					if err := printConflict(s, &c, *asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func printConflict(s *stdio, c *replica.Conflict, asJSON bool) error {
	if asJSON {
		j := conflictJSON{Collection: c.Collection, Key: jsonValue(c.Key), Field: c.Field, Kept: c.Kept}
		for _, v := range c.Values {
			value := concurrentJSON{Value: jsonValue(v.Value)}
			if v.Log != (replica.LogID{}) {
				value.Time, value.Device, value.Log = v.Time.UTC(), v.Device.String(), v.Log.String()
			}
			j.Values = append(j.Values, value)
		}
		return writeJSON(s, j)
	}
	line := fmt.Sprintf("%s %s %s", c.Collection, keyText(c.Key), c.Field)
	if c.Kept {
		line += ", answer wanted"
	}
	if _, err := fmt.Fprintln(s.out, columns.Shorten(line, columns.Max)); err != nil {
		return err
	}
	t := &columns.Table{Out: s.out, Widths: []int{1, 19, shortDigits}}
	for i, v := range c.Values {
		mark := ""
		if i == 0 {
			mark = "*"
		}
		time, author := clock(v.Time), short(v.Device)
		if v.Log == (replica.LogID{}) {
			time, author = "by the checkpoint", ""
		}
		if err := t.Row(mark, time, author, valueText(v.Value)); err != nil {
			return err
		}
	}
	return nil
}
