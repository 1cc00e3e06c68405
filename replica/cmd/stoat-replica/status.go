package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

// statusJSON is the state of a space in a database.
type statusJSON struct {
	Name      string `json:"name"`
	Space     string `json:"space"`
	Device    string `json:"device"`
	Logs      int    `json:"logs"`
	Devices   int    `json:"devices"`
	Entries   uint64 `json:"entries"`
	Unsealed  uint64 `json:"unsealed"`
	Conflicts int    `json:"conflicts"`
	Void      uint64 `json:"void"`
	Forked    int    `json:"forked"`
	// Waiting is entries that arrived and are not merged yet, and Missing the logs that they wait
	// for. Ended is entries that are not valid.
	Waiting     uint64            `json:"waiting"`
	Missing     int               `json:"missing"`
	Ended       uint64            `json:"ended"`
	Checkpoints uint64            `json:"checkpoints"`
	Mismatch    bool              `json:"mismatch"`
	waits       []replica.Waiting // what Waiting and Ended count
}

func statusCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		name: "status", arguments: "DB", summary: "show each space: its id, what it has, what waits",
		details: `
Entries that are not sealed yet have not left this database; a sync or an export
seals them. Those that wait are listed with what they wait for. "ended" counts
entries that are not valid: their logs end before them.`,
		min: 1, max: 1, flags: flags,
		run: func(_ context.Context, s *stdio, args []string) error {
			db, err := openDB(args[0], &stoat.Options{ReadOnly: true})
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
	st.Checkpoints, st.Mismatch = now.Checkpoints, now.Mismatch
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
	if st.Ended > 0 {
		fmt.Fprintf(s.out, "ended      %s\n", entriesText(int64(st.Ended)))
	}
	if st.Forked > 0 {
		fmt.Fprintf(s.out, "forked     %s\n", progress.Counted(int64(st.Forked), "log"))
	}
	if st.Mismatch {
		fmt.Fprint(s.out, "checkpoint differs from the state here: run \"stoat replica verify\"\n")
	}
	return st.printWaits(s)
}

// waitsMax is how many logs with entries that wait are listed.
const waitsMax = 10

// printWaits lists what waits, and why.
func (st *statusJSON) printWaits(s *stdio) error {
	t := &table{s, []int{shortDigits + 10}}
	for i, w := range st.waits {
		if i == waitsMax {
			return t.row(fmt.Sprintf("and %d other logs", len(st.waits)-i))
		}
		entries := shortEntry(replica.EntryID{Log: w.Log, Seq: w.First})
		if w.Last > w.First {
			entries += fmt.Sprintf("-%d", w.Last)
		}
		reason := w.Reason.Error()
		if w.For != nil {
			reason = "entry " + shortEntry(*w.For) + " is missing"
		}
		if err := t.row(entries, reason); err != nil {
			return err
		}
	}
	return nil
}
