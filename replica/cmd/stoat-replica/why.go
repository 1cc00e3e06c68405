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
	"github.com/stoatdb/stoat/internal/commands/columns"
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
					now, err := recordNow(space, tx, args[1], key)
					if err != nil {
						return err
					}
					if len(history) == 0 && now == nil {
						continue
					}
					if *asJSON {
						return historyAsJSON(s, history)
					}
					return printWhy(s, space, tx, args[1], key, now, history)
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

// recordNow returns a record, or nil if it does not exist.
func recordNow(space *replica.Space, tx *stoat.Tx, collection string, key record.Key) (
	*replica.Record, error,
) {
	now, err := space.At(tx, replica.Moment{})
	if err != nil {
		return nil, err
	}
	r, err := now.Record(collection, key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return r, err
}

// printWhy prints a record, which is nil if it does not exist, and its history.
func printWhy(s *stdio, space *replica.Space, tx *stoat.Tx, collection string, key record.Key,
	now *replica.Record, history []*replica.Revision,
) error {
	status, err := space.Status(tx)
	if err != nil {
		return err
	}
	if now == nil {
		fmt.Fprintf(s.out, "%s is not there\n", columns.Shorten(collection+" "+keyText(tupleOf(key)), 60))
	} else {
		fmt.Fprintln(s.out, columns.Shorten(collection+" "+keyText(now.Key), columns.Max))
		for _, name := range slices.Sorted(maps.Keys(now.Fields)) {
			by := decided(name, history, status.Pruned)
			field := columns.Shorten(name+" = "+valueText(now.Fields[name]), 38)
			fmt.Fprintf(s.out, "  %-38s  %s\n", field, by)
		}
	}
	if status.Pruned {
		fmt.Fprintln(s.out, "history, without what was pruned here:")
	} else {
		fmt.Fprintln(s.out, "history:")
	}
	t := &columns.Table{Out: s.out, Widths: []int{19, shortDigits + 6}}
	for _, r := range history {
		if err := t.Row(clock(r.Time), shortEntry(r.EntryID), revisionText(r)); err != nil {
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
// between values that were set. Pruned says that the history may lack its beginning.
func decided(field string, history []*replica.Revision, pruned bool) string {
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
	switch {
	case rule == "set" || rule == "keep":
		return "set by " + shortEntry(by.EntryID)
	case rule == "" && pruned:
		return "from the checkpoint"
	case rule == "":
		return ""
	case pruned:
		return rule + " of " + progress.Counted(int64(n), "change") + " and of pruned ones"
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
