package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

func revertCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	var f revertFlags
	f.add(flags)
	asJSON := jsonFlag(flags)
	dryRun := flags.Bool("dry-run", false, "show what would change, and change nothing")
	return &command{
		Name: "revert", Arguments: "DB", Summary: "take back what some entries did",
		Details: `
The flags select entries; an entry is selected if all of them select it. Records
then show what they would show without these entries, with everything else that
was ever done to them. Nothing is erased: this device writes new entries, which
can be reverted in turn. Prints each change, first try it with -dry-run.

TIME is like 2026-01-31, "2026-01-31 15:04", or 2h for two hours ago, by the
clocks of the authors. A maximum and a minimum stay as they are: the greatest
value that was ever written counts. Reverting twice subtracts from sums twice.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			if f == (revertFlags{}) {
				return cmdline.Usagef("say what to take back: -since, -until, -log, -by or -in")
			}
			if f.key != "" && f.in == "" {
				return cmdline.Usagef("-key needs the collection: write -in COLLECTION, too")
			}
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				err := db.Update(func(tx *stoat.Tx) error {
					return f.revert(s, space, tx, *dryRun, *asJSON)
				})
				if errors.Is(err, errDryRun) {
					err = nil
				}
				return err
			})
		},
	}
}

// errDryRun rolls a transaction back.
var errDryRun = errors.New("dry run")

// revertFlags select entries.
type revertFlags struct {
	since, until     time.Time
	log, by, in, key string
}

func (f *revertFlags) add(flags *flag.FlagSet) {
	flags.Func("since", "entries from this `TIME` on", timeFlag(&f.since))
	flags.Func("until", "entries before this `TIME`", timeFlag(&f.until))
	textFlag(flags, &f.log, "log", "entries of the log with this `ID`")
	textFlag(flags, &f.by, "by", "entries of the device with this `ID`")
	textFlag(flags, &f.in, "in", "changes of this `COLLECTION`")
	textFlag(flags, &f.key, "key", "changes of the record with this `KEY`, with -in")
}

// timeFlag returns a function that parses a time, or how long ago it was.
func timeFlag(to *time.Time) func(text string) error {
	return func(text string) (err error) {
		if ago, err := time.ParseDuration(text); err == nil {
			*to = time.Now().Add(-ago)
			return nil
		}
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02 15:04",
			time.DateOnly} {
			if *to, err = time.ParseInLocation(layout, text, time.Local); err == nil {
				return nil
			}
		}
		return errors.New("want a time like 2026-01-31, \"2026-01-31 15:04\", or 2h for two hours ago")
	}
}

// revert takes back what the flags select, and prints the changes.
func (f *revertFlags) revert(
	s *stdio, space *replica.Space, tx *stoat.Tx, dryRun, asJSON bool,
) error {
	filter, err := f.filter(space, tx)
	if err != nil {
		return err
	}
	before, err := ends(space, tx)
	if err != nil {
		return err
	}
	done, err := space.Revert(tx, filter)
	if err != nil {
		return err
	}
	after, err := space.Heads(tx)
	if err != nil {
		return err
	}
	for _, h := range after {
		for e, err := range space.Entries(tx, h.Log, before[h.Log], h.Entries) {
			if err == nil {
				err = printChanges(s, e, asJSON)
			}
			if err != nil {
				return err
			}
		}
	}
	if !asJSON {
		printReverted(s, &done, dryRun)
	}
	if dryRun {
		return errDryRun
	}
	return nil
}

// ends returns the number of entries in each log.
func ends(space *replica.Space, tx *stoat.Tx) (map[replica.LogID]uint64, error) {
	heads, err := space.Heads(tx)
	all := map[replica.LogID]uint64{}
	for _, h := range heads {
		all[h.Log] = h.Entries
	}
	return all, err
}

// filter returns what the flags select.
func (f *revertFlags) filter(space *replica.Space, tx *stoat.Tx) (all replica.Filter, err error) {
	all = replica.Filter{Collection: f.in, From: f.since, To: f.until}
	if f.by != "" {
		if all.Device, err = parseDevice(f.by); err != nil {
			return all, err
		}
	}
	if f.log != "" {
		log, err := findLog(space, tx, f.log)
		if err != nil {
			return all, err
		}
		all.Log = log.Log
	}
	if f.key != "" {
		all.Key, err = f.record(space, tx)
	}
	return all, err
}

// record returns the key of the record, which must have a history.
func (f *revertFlags) record(space *replica.Space, tx *stoat.Tx) (record.Key, error) {
	keys, err := parseKey(f.key)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		for _, err := range space.History(tx, f.in, key) {
			return key, err
		}
	}
	return nil, fmt.Errorf("collection %q never had the record %s (%w)", f.in, f.key, errNotFound)
}

// printChanges prints the changes of an entry.
func printChanges(s *stdio, e *replica.Entry, asJSON bool) error {
	if asJSON {
		for _, change := range toJSON(e).Changes {
			if err := writeJSON(s, change); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range e.Changes {
		line := columns.Shorten(changeText(&e.Changes[i]), columns.Max)
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	return nil
}

// printReverted sums up what was done.
func printReverted(s *stdio, done *replica.Reverted, dryRun bool) {
	verb := "changed"
	if dryRun {
		verb = "would change"
	}
	fmt.Fprintf(s.out, "%s %s\n", verb, progress.Counted(int64(done.Records), "record"))
	if done.Stayed > 0 {
		fmt.Fprintf(s.out, "%s of merge=max or merge=min cannot be taken back\n",
			progress.Counted(int64(done.Stayed), "field"))
	}
}
