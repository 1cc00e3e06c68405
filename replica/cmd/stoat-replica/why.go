package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
	"github.com/stoatdb/stoat/tuple"
)

// revisionJSON is what an entry did to a record.
type revisionJSON struct {
	Log     string      `json:"log"`
	Seq     uint64      `json:"seq"`
	Device  string      `json:"device"`
	Time    time.Time   `json:"time"`
	Deleted bool        `json:"deleted,omitempty"`
	Fields  []fieldJSON `json:"fields,omitempty"`
	Void    string      `json:"void,omitempty"`
}

func whyCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "why", Arguments: "DB COLLECTION KEY",
		Summary: "show what a record is, and how it came to be that",
		Details: `
First the fields that the record has now, each with the entry that decided; then
everything that was done to it, the oldest first, also what does not count. KEY
is a word or a number, or a list in JSON for a key of several fields, like
'["ann", 7]'. JSON has the history.`,
		Min: 3, Max: 3, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			keys, err := parseKey(args[2])
			if err != nil {
				return err
			}
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				for _, key := range keys {
					history, err := historyOf(space, tx, args[1], key)
					if err != nil {
						return err
					}
					if len(history) == 0 {
						continue
					}
					if *asJSON {
						return historyAsJSON(s, history)
					}
					return printWhy(s, space, tx, args[1], key, history)
				}
				return fmt.Errorf("collection %q never had the record %s (%w)", args[1], args[2],
					errNotFound)
			})
		},
	}
}

// historyOf returns what was done to a record.
func historyOf(space *replica.Space, tx *stoat.Tx, collection string, key record.Key) (
	all []*replica.Revision, err error,
) {
	for r, err := range space.History(tx, collection, key) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func historyAsJSON(s *stdio, history []*replica.Revision) error {
	for _, r := range history {
		err := writeJSON(s, revisionJSON{r.Log.String(), r.Seq, r.Device.String(), r.Time.UTC(),
			r.Deleted, fieldsJSON(r.Fields), r.Void})
		if err != nil {
			return err
		}
	}
	return nil
}

// printWhy prints a record and its history.
func printWhy(s *stdio, space *replica.Space, tx *stoat.Tx, collection string, key record.Key,
	history []*replica.Revision,
) error {
	var now *replica.Record
	then, err := space.At(tx, replica.Moment{})
	pruned := errors.Is(err, replica.ErrPruned)
	if err == nil {
		now, err = then.Record(collection, key)
	}
	switch {
	case err != nil && pruned: // what it is now cannot be told from its history
		fmt.Fprintf(s.out, "%s\n  its history before the checkpoint was pruned here\n",
			shorten(collection+" "+keyText(tupleOf(key)), columnsMax))
	case errors.Is(err, stoat.ErrNotFound):
		fmt.Fprintf(s.out, "%s is not there\n", shorten(collection+" "+keyText(tupleOf(key)), 60))
	case err != nil:
		return err
	default:
		fmt.Fprintln(s.out, shorten(collection+" "+keyText(now.Key), columnsMax))
		for _, name := range slices.Sorted(maps.Keys(now.Fields)) {
			text := shorten(name+" = "+valueText(now.Fields[name]), 38)
			fmt.Fprintf(s.out, "  %-38s  %s\n", text, decided(name, history))
		}
	}
	fmt.Fprintln(s.out, "history:")
	t := &table{s, []int{19, shortDigits + 6}}
	for _, r := range history {
		if err := t.row(clock(r.Time), shortEntry(r.EntryID), revisionText(r)); err != nil {
			return err
		}
		if r.Void != "" {
			if err := paragraph(s, "void: "+r.Void); err != nil {
				return err
			}
		}
	}
	return nil
}

// tupleOf returns a key as a tuple.
func tupleOf(key record.Key) tuple.Tuple {
	if several, ok := key.(tuple.Tuple); ok {
		return several
	}
	return tuple.Tuple{key}
}

// decided returns what made a field what it is. A history is in the order of time, which decides
// between values that were set.
func decided(field string, history []*replica.Revision) string {
	n := 0
	rule, by := "", (*replica.Revision)(nil)
	for _, r := range history {
		for _, f := range r.Fields {
			if f.Field == field && r.Void == "" {
				n++
				rule, by = f.Rule, r
			}
		}
	}
	switch rule {
	case "set", "keep":
		return "set by " + shortEntry(by.EntryID)
	case "":
		return ""
	}
	return rule + " of " + progress.Counted(int64(n), "change")
}

// revisionText returns what an entry did to a record.
func revisionText(r *replica.Revision) string {
	if r.Deleted {
		return "deleted"
	}
	if len(r.Fields) == 0 {
		return "created"
	}
	var fields []string
	for i := range r.Fields {
		fields = append(fields, fieldText(&r.Fields[i]))
	}
	return strings.Join(fields, ", ")
}
