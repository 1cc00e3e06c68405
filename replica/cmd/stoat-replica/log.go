package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

// entryJSON is an entry.
type entryJSON struct {
	Log     string       `json:"log"`
	Seq     uint64       `json:"seq"`
	Device  string       `json:"device"`
	Hash    string       `json:"hash"`
	Time    time.Time    `json:"time"`
	Kind    string       `json:"kind"`
	Size    int          `json:"size"`
	Seen    []string     `json:"seen,omitempty"`
	Act     string       `json:"act,omitempty"`
	Changes []changeJSON `json:"changes,omitempty"`
}

// changeJSON is what happened to a record.
type changeJSON struct {
	Collection string      `json:"collection"`
	Key        any         `json:"key"`
	Deleted    bool        `json:"deleted,omitempty"`
	Fields     []fieldJSON `json:"fields,omitempty"`
}

// fieldJSON is what happened to a field.
type fieldJSON struct {
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Value   any    `json:"value,omitempty"`
	Removed []any  `json:"removed,omitempty"`
	Added   []any  `json:"added,omitempty"`
	Values  []any  `json:"values,omitempty"`
}

func logCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	limit := flags.Int("limit", 100, "show at most the newest `N` entries; 0: all")
	return &command{
		Name: "log", Arguments: "DB [LOG[:SEQ]]",
		Summary: "show entries: what was changed, when, by which device",
		Details: `
An entry is what one transaction did to the space. The newest come first, by the
clocks of their authors. With LOG, only that log; with LOG:SEQ, all about one
entry. JSON has all about each entry. What was pruned here is left out.`,
		Min: 1, Max: 2, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			if *limit < 0 {
				return cmdline.Usagef("-limit %d: want 0 or more", *limit)
			}
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				which := ""
				if len(args) == 2 {
					which = args[1]
				}
				entries, one, err := chooseEntries(space, tx, which, *limit)
				if err != nil {
					return err
				}
				return printEntries(s, entries, one, *asJSON)
			})
		},
	}
}

// chooseEntries returns the entries that arguments name, the newest first; one reports that it is a
// certain one.
func chooseEntries(space *replica.Space, tx *stoat.Tx, which string, limit int) (
	entries []*replica.Entry, one bool, err error,
) {
	if which == "" {
		heads, err := space.Heads(tx)
		if err != nil {
			return nil, false, err
		}
		entries, err = newest(space, tx, heads, limit)
		return entries, false, err
	}
	head, seq, alone, err := findEntry(space, tx, which)
	if err != nil {
		return nil, false, err
	}
	if alone {
		entries, err = newest(space, tx, []replica.Head{*head}, limit)
		return entries, false, err
	}
	for e, err := range space.Entries(tx, head.Log, seq, seq+1) {
		return []*replica.Entry{e}, true, err
	}
	return nil, false, errNotFound
}

// newest returns the newest entries of logs, the newest first, without those that were pruned: all
// if the limit is 0.
func newest(space *replica.Space, tx *stoat.Tx, heads []replica.Head, limit int) (
	[]*replica.Entry, error,
) {
	var all []*replica.Entry
	for _, h := range heads {
		from := uint64(0)
		if limit > 0 && h.Entries > uint64(limit) {
			from = h.Entries - uint64(limit)
		}
		for ; from < h.Entries; from++ { // an error ends the inner loop: go on behind what was pruned
			for e, err := range space.Entries(tx, h.Log, from, h.Entries) {
				if errors.Is(err, replica.ErrPruned) {
					break
				}
				if err != nil {
					return nil, err
				}
				all = append(all, e)
				from++
			}
		}
	}
	slices.SortFunc(all, func(a, b *replica.Entry) int { return b.Compare(a) })
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return all, nil
}

// printEntries prints entries; one of them alone in full.
func printEntries(s *stdio, entries []*replica.Entry, one, asJSON bool) error {
	t := &columns.Table{Out: s.out, Widths: []int{19, shortDigits + 8, shortDigits}}
	for _, e := range entries {
		var err error
		switch {
		case asJSON:
			err = writeJSON(s, toJSON(e))
		case one:
			err = printEntry(s, e)
		default:
			err = t.Row(clock(e.Time), shortEntry(e.EntryID), short(e.Device), entryText(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryText returns what an entry did, in a few words.
func entryText(e *replica.Entry) string {
	switch {
	case len(e.Changes) == 1:
		return changeText(&e.Changes[0])
	case len(e.Changes) > 1:
		return progress.Counted(int64(len(e.Changes)), "record") + ": " + changeText(&e.Changes[0])
	}
	if e.Act != "" {
		return shortIDs(e.Act)
	}
	return e.Kind
}

// printEntry prints all about an entry.
func printEntry(s *stdio, e *replica.Entry) error {
	fmt.Fprintf(s.out, "entry   %s\n        number %d, %s, %s\n", e.Log, e.Seq, e.Kind,
		progress.Bytes(float64(e.Size)))
	fmt.Fprintf(s.out, "device  %s\nhash    %s\ntime    %s\n", e.Device, replica.SpaceID(e.Hash),
		clock(e.Time))
	for _, seen := range e.Seen {
		fmt.Fprintf(s.out, "seen    %s\n", shortEntry(seen))
	}
	if e.Act != "" {
		fmt.Fprintln(s.out, "act")
		if err := paragraph(s, e.Act); err != nil {
			return err
		}
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		head := replica.Change{Collection: c.Collection, Key: c.Key, Deleted: c.Deleted}
		fmt.Fprintf(s.out, "%s\n", columns.Shorten(changeText(&head), columns.Max))
		for j := range c.Fields {
			fmt.Fprintf(s.out, "  %s\n", fieldText(&c.Fields[j]))
		}
	}
	return nil
}

func toJSON(e *replica.Entry) *entryJSON {
	j := &entryJSON{Log: e.Log.String(), Seq: e.Seq, Device: e.Device.String(),
		Hash: replica.SpaceID(e.Hash).String(), Time: e.Time.UTC(), Kind: e.Kind, Size: e.Size,
		Act: e.Act}
	for _, seen := range e.Seen {
		j.Seen = append(j.Seen, fullEntry(seen))
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		change := changeJSON{Collection: c.Collection, Key: jsonValue(c.Key), Deleted: c.Deleted}
		change.Fields = fieldsJSON(c.Fields)
		j.Changes = append(j.Changes, change)
	}
	return j
}

func fieldsJSON(fields []replica.FieldChange) (all []fieldJSON) {
	for i := range fields {
		f := &fields[i]
		all = append(all, fieldJSON{f.Field, f.Rule, jsonValue(f.Value), jsonValues(f.Removed),
			jsonValues(f.Added), jsonValues(f.Values)})
	}
	return all
}
