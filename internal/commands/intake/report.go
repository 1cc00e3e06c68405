package intake

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/commands/bucketpath"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// Report is the outcome of an import over all of its runs.
type Report struct {
	Database string `json:"database"`
	Kind     string `json:"kind"` // of the source
	Source   string `json:"source"`
	Bucket   string `json:"bucket"` // its path, as text
	Counts
	Resumed  bool     `json:"resumed"`  // an earlier run had begun
	Findings []string `json:"findings"` // notable facts about the source
	run      Counts   // of the last run
}

// Report returns the outcome so far; database is the directory of the database.
func (j *Job) Report(database string, findings []string) *Report {
	return &Report{
		Database: database, Kind: j.source.Kind, Source: j.source.Path,
		Bucket: bucketpath.Format(j.options.Bucket), Counts: j.stored, Resumed: j.resumed,
		Findings: append([]string{}, findings...),
		run: Counts{
			Entries: j.stored.Entries - j.before.Entries,
			Bytes:   j.stored.Bytes - j.before.Bytes,
		},
	}
}

// Write prints the report for a job that took so long: as JSON, or in lines for people.
func (r *Report) Write(w io.Writer, asJSON bool, took time.Duration) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	_, err := io.WriteString(w, r.text(took))
	return err
}

// text returns the report in lines.
func (r *Report) text(took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s in %s: %s/s\n", entriesText(r.run.Entries),
		progress.Bytes(float64(r.run.Bytes)), progress.Duration(took),
		progress.Bytes(progress.Per(r.run.Bytes, took)))
	if r.Resumed {
		fmt.Fprintf(&b, "with what earlier runs have imported: %s, %s\n", entriesText(r.Entries),
			progress.Bytes(float64(r.Bytes)))
	}
	if r.Redacted > 0 {
		fmt.Fprintf(&b, "redacted in the source, and numbers without an entry here: %s\n",
			progress.Count(r.Redacted))
	}
	if r.Expired > 0 {
		fmt.Fprintf(&b, "expired, and not stored: %s\n", entriesText(r.Expired))
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "left out because they make no sense: %s\n",
			progress.Counted(r.Skipped, "record"))
	}
	for _, finding := range r.Findings {
		fmt.Fprintln(&b, finding)
	}
	return b.String()
}

func entriesText(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return progress.Count(n) + " entries"
}
