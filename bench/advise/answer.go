package advise

import (
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// answer is what the command prints. Times are in nanoseconds.
type answer struct {
	Subject    subject
	Machine    machine.Description
	FileSystem string // of the storage
	Settings   suite.Settings
	Notes      []string         `json:",omitempty"` // what was left out, and why
	Failures   []report.Failure `json:",omitempty"`
	Layouts    []table          `json:",omitempty"`
	Engines    table
	Advice     []string // one paragraph each
}

// subject is the data that was measured.
type subject struct {
	File string
	extent
	Records int      // pairs whose value is a JSON object, with which the layouts are measured
	Fields  []string `json:",omitempty"` // of the records
	Sum     string   `json:",omitempty"` // the field to add up
	Update  string   `json:",omitempty"` // the field to update
	bolt    bool
}

// String describes the data.
func (s subject) String() string {
	mean := report.Count(float64((s.ValueBytes + int64(s.Pairs)/2) / int64(s.Pairs)))
	name := filepath.Base(s.File)
	fields := counted(len(s.Fields), "field")
	if !s.bolt {
		return fmt.Sprintf("%s of %s bytes on average (from %s), %s",
			counted(s.Pairs, "record"), mean, name, fields)
	}
	text := fmt.Sprintf("%s in %s with values of %s bytes on average (from %s)",
		counted(s.Pairs, "pair"), counted(s.Buckets, "bucket"), mean, name)
	if s.Records > 0 {
		text += fmt.Sprintf(", %s of them JSON objects, with %s",
			report.Count(float64(s.Records)), fields)
	}
	return text
}

// space reports whether there is enough data to judge its size on disk.
func (s subject) space() bool { return s.KeyBytes+s.ValueBytes >= fewBytes }
