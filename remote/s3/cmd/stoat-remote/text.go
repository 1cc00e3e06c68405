package main

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

// labelColumns is the width of the names of facts.
const labelColumns = 10

// facts returns a table of names and what they say.
func facts(s *stdio) *columns.Table {
	return &columns.Table{Out: s.out, Widths: []int{labelColumns}}
}

// timeText returns a time as people and programs read it; a zero one is empty.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// momentText returns a commit and its time.
func momentText(m remote.Moment) string {
	return strings.TrimRight(fmt.Sprintf("commit %s  %s", progress.Count(int64(m.Commit)),
		timeText(m.Time)), " ")
}

// uuidText returns the identity of a database as people write it.
func uuidText(id [16]byte) string {
	x := hex.EncodeToString(id[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}
