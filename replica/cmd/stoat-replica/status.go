package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

// statusJSON is the state of a space in a database.
type statusJSON struct {
	Name     string `json:"name"`
	Space    string `json:"space"`
	Device   string `json:"device"`
	Logs     int    `json:"logs"`
	Devices  int    `json:"devices"`
	Entries  uint64 `json:"entries"`
	Unsealed uint64 `json:"unsealed"`
	// Ahead is by how many seconds this device's newest entry is ahead of the clock, if that makes it
	// wait at others.
	Ahead     int64  `json:"ahead,omitempty"`
	Conflicts int    `json:"conflicts"`
	Void      uint64 `json:"void"`
	Forked    int    `json:"forked"`
	// Waiting is entries that arrived and are not merged yet, and Missing the logs that they wait
	// for. Ended is entries that are not valid.
	Waiting uint64 `json:"waiting"`
	Missing int    `json:"missing"`
	Ended   uint64 `json:"ended"`
	// Checkpoints is how many count. Covered is the entries that the last one covers, and Pruned
	// says that they are gone here.
	Checkpoints uint64             `json:"checkpoints"`
	Covered     uint64             `json:"covered"`
	Pruned      bool               `json:"pruned"`
	Mismatch    bool               `json:"mismatch"`
	Split       []replica.DeviceID `json:"split,omitempty"`
	// Start is set while the replica starts from a checkpoint.
	Start *replica.Start `json:"start,omitempty"`
	// Holds are the collections that the replica holds; null: all.
	Holds []string `json:"holds"`
	// Withheld are collections of which content is not here.
	Withheld []replica.Withheld `json:"withheld,omitempty"`
	waits    []replica.Waiting  // what Waiting and Ended count
}

func statusCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "status", Arguments: "DB", Summary: "show each space: its id, what it has, what waits",
		Details: `
Entries that are not sealed yet have not left this database; a sync or an export
seals them. Those that wait are listed with what they wait for. "ended" counts
entries that are not valid: their logs end before them.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			db, err := o.openDB(args[0], &stoat.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			return errors.Join(statusOf(s, db, o.space, *asJSON), db.Close())
		},
	}
}

// statusOf prints the status of one space, or of all.
func statusOf(s *stdio, db *stoat.DB, only string, asJSON bool) error {
	return db.View(func(tx *stoat.Tx) error {
		names, err := replica.Spaces(tx)
		if err != nil {
			return err
		}
		if only != "" {
			names = []string{only}
		}
		if len(names) == 0 {
			return fmt.Errorf("the database has no space: create or join one (%w)", errNotFound)
		}
		for i, name := range names {
			space, err := replica.Open(db, name, nil)
			if err != nil {
				return err
			}
			status, err := measure(space, tx)
			if err == nil && asJSON {
				err = writeJSON(s, status)
			} else if err == nil {
				err = status.print(s, i == 0)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// measure returns the status of a space.
func measure(space *replica.Space, tx *stoat.Tx) (*statusJSON, error) {
	st := &statusJSON{Name: space.Name(), Space: space.ID().String()}
	now, err := space.Status(tx)
	if err != nil {
		return nil, err
	}
	st.Void, st.Unsealed, st.Missing = now.Void, now.Unsent, len(now.Missing)
	st.Ahead = int64(now.Ahead / time.Second)
	st.Checkpoints, st.Mismatch, st.Split = now.Checkpoints, now.Mismatch, now.Split
	st.Covered, st.Pruned = now.Covered, now.Pruned
	st.Withheld, st.Start = now.Withheld, now.Start
	if st.Holds, err = space.Collections(tx); err != nil {
		return nil, err
	}
	st.Waiting, st.Ended = countWaits(now.Waiting), countWaits(now.Ended)
	st.waits = append(now.Waiting, now.Ended...)
	devices := map[replica.DeviceID]bool{}
	for _, h := range now.Heads {
		if h.Cut > 0 {
			st.Forked++
		}
		devices[h.Device] = true
		st.Entries += h.Entries
		if h.Own {
			st.Device = h.Device.String()
		}
	}
	st.Logs, st.Devices = len(now.Heads), len(devices)
	for _, err := range space.Conflicts(tx) {
		if err != nil {
			return nil, err
		}
		st.Conflicts++
	}
	return st, nil
}

// countWaits returns the number of entries.
func countWaits(all []replica.Waiting) (n uint64) {
	for _, w := range all {
		n += w.Last - w.First + 1
	}
	return n
}

// print prints the status for people.
func (st *statusJSON) print(s *stdio, first bool) error {
	if !first {
		fmt.Fprintln(s.out)
	}
	unsealed := ""
	if st.Unsealed > 0 {
		unsealed = fmt.Sprintf(", of which %s not sealed", progress.Count(int64(st.Unsealed)))
	}
	_, err := fmt.Fprintf(s.out, `name       %s
space      %s
device     %s
logs       %s of %s
entries    %s%s
conflicts  %s
void       %s
waiting    %s
`, quote(st.Name), st.Space, st.Device, progress.Count(int64(st.Logs)),
		progress.Counted(int64(st.Devices), "device"), progress.Count(int64(st.Entries)), unsealed,
		progress.Count(int64(st.Conflicts)), entriesText(int64(st.Void)), entriesText(int64(st.Waiting)))
	if err != nil {
		return err
	}
	st.printMissing(s)
	st.printCheckpoint(s)
	if st.Ahead > 0 {
		fmt.Fprintf(s.out, "ahead      what this device wrote is %s ahead, and waits at others: set the "+
			"clock that is wrong\n", time.Duration(st.Ahead)*time.Second)
	}
	if st.Ended > 0 {
		fmt.Fprintf(s.out, "ended      %s\n", entriesText(int64(st.Ended)))
	}
	if st.Forked > 0 {
		fmt.Fprintf(s.out, "forked     %s\n", progress.Counted(int64(st.Forked), "log"))
	}
	for _, device := range st.Split {
		fmt.Fprintf(s.out, "split      %s goes by another checkpoint: choose a side to keep, and on "+
			"each replica of the other one, \"sync -from-checkpoint\" with a device of that side\n", device)
	}
	return st.printWaits(s)
}

// printCheckpoint prints how far the checkpoints are that count.
func (st *statusJSON) printCheckpoint(s *stdio) {
	if st.Checkpoints > 0 {
		pruned := ""
		if st.Pruned {
			pruned = ", pruned here"
		}
		fmt.Fprintf(s.out, "checkpoint %s, of %s%s\n", progress.Count(int64(st.Checkpoints)),
			entriesText(int64(st.Covered)), pruned)
	}
	if st.Mismatch {
		fmt.Fprint(s.out, "checkpoint differs from the state here: run \"stoat replica verify\"\n")
	}
}

// printMissing prints what the replica leaves out, and what is still to come.
func (st *statusJSON) printMissing(s *stdio) {
	if st.Holds != nil {
		var names []string
		for _, name := range st.Holds {
			names = append(names, quote(name))
		}
		fmt.Fprintf(s.out, "holds      %s\n", columns.Shorten(strings.Join(names, ", "), columns.Max-11))
	}
	if st.Start != nil {
		fmt.Fprintf(s.out, "starting   %s of %s of a checkpoint are here: sync to take the rest\n",
			progress.Count(int64(st.Start.Stored)),
			progress.Counted(int64(st.Start.Chunks), "chunk"))
	}
	for _, w := range st.Withheld {
		wanted := ""
		if w.Wanted {
			wanted = ", arrives with the next sync"
		}
		where := progress.Counted(int64(w.Logs), "log")
		if w.Checkpoint {
			where += " and at the checkpoint"
		}
		fmt.Fprintf(s.out, "withheld   %s in %s%s\n", quote(w.Collection), where, wanted)
	}
}

// waitsMax is how many logs with entries that wait are listed.
const waitsMax = 10

// printWaits lists what waits, and why.
func (st *statusJSON) printWaits(s *stdio) error {
	t := &columns.Table{Out: s.out, Widths: []int{shortDigits + 10}}
	for i, w := range st.waits {
		if i == waitsMax {
			return t.Row(fmt.Sprintf("and %d other logs", len(st.waits)-i))
		}
		entries := shortEntry(replica.EntryID{Log: w.Log, Seq: w.First})
		if w.Last > w.First {
			entries += fmt.Sprintf("-%d", w.Last)
		}
		reason := w.Reason.Error()
		if w.For != nil {
			reason = "entry " + shortEntry(*w.For) + " is missing"
		}
		if err := t.Row(entries, reason); err != nil {
			return err
		}
	}
	return nil
}
