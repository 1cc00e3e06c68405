package stoat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/internal/tools/salvage"
)

// SalvageReport says what [Salvage] found, what is lost, and what it wrote. Each of its lists has
// at most a thousand items; further ones are only counted.
type SalvageReport struct {
	Source      string `json:"source"`      // the damaged database
	Destination string `json:"destination"` // the new one

	// Manifest is the file that said which others make up the database: the manifest or its copy.
	// It is empty if neither could be used. Then Salvage guessed the age of files by their numbers
	// and read all logs in the directory into memory: deleted ranges and buckets may be back,
	// values encoded with a dictionary may be lost, and writes of a transaction that was never
	// committed may be included.
	Manifest string `json:"manifest"`
	// Older says that any key may be lost, outdated, or back after it was deleted, because the
	// manifest is damaged or may lack its end, or because transactions of a log are lost. Tables
	// that the manifest should list were read too; a crash may have left them uncommitted.
	Older bool `json:"older"`

	Tables       int             `json:"tables"` // tables read
	Logs         int             `json:"logs"`   // logs read
	Problems     []SalvageDamage `json:"problems,omitempty"`
	MoreProblems int             `json:"moreProblems,omitempty"` // not listed

	Blocks       int            `json:"lostBlocks"`       // of tables: their keys, or their values
	Transactions uint64         `json:"lostTransactions"` // lost from logs
	Ranges       []SalvageRange `json:"ranges,omitempty"`
	MoreRanges   int            `json:"moreRanges,omitempty"` // not listed
	Values       int            `json:"lostValues"`           // lost values whose keys are known
	Keys         []SalvageKey   `json:"keys,omitempty"`       // the first of those keys
	// Buckets names the buckets made in the root bucket for data whose bucket is unknown.
	Buckets []string `json:"lostBuckets,omitempty"`

	Entries uint64 `json:"entries"` // keys written, with their values
	Bytes   uint64 `json:"bytes"`   // the size of those keys and values
}

// SalvageDamage is one damaged place in a file.
type SalvageDamage struct {
	File   string `json:"file"`   // the file's name
	Offset int64  `json:"offset"` // where the damage starts, in bytes; 0 if it has no place
	What   string `json:"what"`   // what is wrong
}

// SalvageRange is a range of keys that may be lost, outdated, or back after they were deleted.
type SalvageRange struct {
	File   string   `json:"file"`             // the damaged file
	Bucket []string `json:"bucket,omitempty"` // the path of its bucket; empty for the root bucket
	Start  []byte   `json:"start,omitempty"`  // the first key; empty: no bound
	End    []byte   `json:"end,omitempty"`    // the first key after the range; empty: no bound
	// Catalog says that the range is of buckets and sequences, of any bucket, not of keys.
	Catalog bool `json:"catalog,omitempty"`
	// Unknown says that the keys belong to buckets that are lost entirely, not to Bucket.
	Unknown bool `json:"unknown,omitempty"`
}

// SalvageKey is a key whose value is lost. It is not in the new database.
type SalvageKey struct {
	Bucket  []string `json:"bucket,omitempty"` // the path of its bucket; empty for the root bucket
	Key     []byte   `json:"key"`
	Catalog bool     `json:"catalog,omitempty"` // Key is the stored form of a bucket or a sequence
	Why     string   `json:"why"`
}

// Lost reports whether anything is lost or may be lost.
func (r *SalvageReport) Lost() bool {
	return r.Older || r.Blocks > 0 || r.Transactions > 0 || r.Values > 0 ||
		len(r.Ranges)+r.MoreRanges > 0 || len(r.Buckets) > 0
}

// Limits of what String prints.
const (
	salvageColumns = 80
	salvageLines   = 20 // of each list
)

// String returns the report as text, in lines of at most 80 characters that end with a newline.
func (r *SalvageReport) String() string {
	w := new(reportWriter)
	w.line("%d keys with their values were written to %s", r.Entries, r.Destination)
	w.line("(%d bytes). Read %d tables and %d logs of %s.", r.Bytes, r.Tables, r.Logs, r.Source)
	w.line("%s", r.verdict())
	w.list("What is wrong with the files:", len(r.Problems)+r.MoreProblems, len(r.Problems),
		func(i int) string {
			p := r.Problems[i]
			return fmt.Sprintf("%s at %d: %s", p.File, p.Offset, p.What)
		})
	w.list("Lost values, whose keys were left out:", r.Values, len(r.Keys), func(i int) string {
		k := r.Keys[i]
		return fmt.Sprintf("%s: %s", placeText(k.Bucket, k.Key, k.Catalog), k.Why)
	})
	w.list("Keys may be missing, old, or back after they were deleted:",
		len(r.Ranges)+r.MoreRanges, len(r.Ranges), func(i int) string { return r.Ranges[i].text() })
	w.list("Buckets made for data whose bucket is unknown:", len(r.Buckets), len(r.Buckets),
		func(i int) string { return strconv.Quote(r.Buckets[i]) })
	return w.text.String()
}

func (r *SalvageReport) verdict() string {
	switch {
	case r.Manifest == "":
		return "No manifest could be used: any value may be old, deleted keys may be back."
	case r.Transactions > 0:
		return fmt.Sprintf("%d transactions of logs are lost: any value may be old.", r.Transactions)
	case r.Older:
		return "The last changes may be lost: any value may be old."
	case r.Lost():
		return "Something is lost; everything not listed below is intact."
	}
	return "Nothing is lost."
}

func (x SalvageRange) text() string {
	switch {
	case x.Catalog:
		return fmt.Sprintf("buckets and sequences (%s)", x.File)
	case x.Unknown:
		return fmt.Sprintf("buckets that are lost entirely (%s)", x.File)
	}
	from, to := "the first key", "the last"
	if len(x.Start) > 0 {
		from = quoted(string(x.Start))
	}
	if len(x.End) > 0 {
		to = "below " + quoted(string(x.End))
	}
	return fmt.Sprintf("%s: %s to %s (%s)", placeText(x.Bucket, nil, false), from, to, x.File)
}

func placeText(bucket []string, key []byte, catalog bool) string {
	if catalog {
		return "entry " + quoted(string(key)) + " of the catalog"
	}
	name := "root bucket"
	if len(bucket) > 0 {
		name = "bucket " + quoted(strings.Join(bucket, "/"))
	}
	if key == nil {
		return name
	}
	return fmt.Sprintf("%s, key %s", name, quoted(string(key)))
}

// quoted returns the text in quotes, cut short to leave room for more on the line.
func quoted(text string) string {
	const columns = 20
	q := []rune(strconv.Quote(text))
	if len(q) > columns {
		q = append(q[:columns-1], '…')
	}
	return string(q)
}

// reportWriter writes lines of limited length.
type reportWriter struct{ text strings.Builder }

func (w *reportWriter) line(format string, args ...any) {
	line := []rune(fmt.Sprintf(format, args...))
	if len(line) > salvageColumns {
		line = append(line[:salvageColumns-1], '…')
	}
	w.text.WriteString(string(line))
	w.text.WriteByte('\n')
}

// list writes the first lines of a list of count items, of which only some are known.
func (w *reportWriter) list(title string, count, known int, text func(i int) string) {
	if count == 0 {
		return
	}
	w.line("")
	w.line("%s", title)
	shown := min(known, salvageLines)
	for i := range shown {
		w.line("  %s", text(i))
	}
	if count > shown {
		w.line("  and %d more", count-shown)
	}
}

func salvageReport(r *salvage.Report) *SalvageReport {
	report := &SalvageReport{
		Source: r.Source, Destination: r.Dest, Manifest: r.Manifest, Older: r.Older,
		Tables: r.Tables, Logs: r.Logs, MoreProblems: r.MoreProblems,
		Blocks: r.Blocks, Transactions: r.Transactions, MoreRanges: r.MoreRanges, Values: r.Values,
		Buckets: r.Buckets, Entries: r.Entries, Bytes: r.Bytes,
	}
	for _, p := range r.Problems {
		report.Problems = append(report.Problems, SalvageDamage(p))
	}
	for _, x := range r.Ranges {
		report.Ranges = append(report.Ranges, SalvageRange(x))
	}
	for _, k := range r.Keys {
		report.Keys = append(report.Keys, SalvageKey(k))
	}
	return report
}
