package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/replica"
)

// shortDigits is the number of digits of an id in a table. JSON has all of them.
const shortDigits = 12

// short returns an id as a table shows it.
func short(id fmt.Stringer) string { return id.String()[:shortDigits] }

// shortEntry returns the id of an entry as a table shows it.
func shortEntry(id replica.EntryID) string { return fmt.Sprintf("%s:%d", short(id.Log), id.Seq) }

// fullEntry returns the id of an entry with all digits.
func fullEntry(id replica.EntryID) string { return fmt.Sprintf("%s:%d", id.Log, id.Seq) }

// clock returns a time as a table shows it.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// findLog returns the log whose id begins with the text.
func findLog(space *replica.Space, tx *stoat.Tx, text string) (*replica.Head, error) {
	heads, err := space.Heads(tx)
	if err != nil {
		return nil, err
	}
	var found *replica.Head
	for i := range heads {
		if !strings.HasPrefix(heads[i].Log.String(), strings.ToLower(text)) {
			continue
		}
		if found != nil {
			return nil, cmdline.Usagef("several logs begin with %s: write more digits", text)
		}
		found = &heads[i]
	}
	if found == nil || text == "" {
		return nil, fmt.Errorf("there is no log %s: \"stoat replica heads\" lists them (%w)", text,
			errNotFound)
	}
	return found, nil
}

// findEntry returns the entry that a text like LOG:SEQ names, or the log alone.
func findEntry(space *replica.Space, tx *stoat.Tx, text string) (
	log *replica.Head, seq uint64, alone bool, err error,
) {
	log, seq, alone, err = findPlace(space, tx, text)
	if err == nil && seq >= log.Entries {
		err = fmt.Errorf("log %s has the entries 0 to %d (%w)", short(log.Log), log.Entries-1,
			errNotFound)
	}
	return log, seq, alone, err
}

// findPlace is findEntry for a number that the log may not have: an entry of another branch may.
func findPlace(space *replica.Space, tx *stoat.Tx, text string) (
	log *replica.Head, seq uint64, alone bool, err error,
) {
	digits, number, both := strings.Cut(text, ":")
	if both {
		if seq, err = strconv.ParseUint(number, 10, 63); err != nil {
			return nil, 0, false, cmdline.Usagef("%s: want LOG:NUMBER, like 0a1b2c:7", text)
		}
	}
	log, err = findLog(space, tx, digits)
	return log, seq, !both, err
}
