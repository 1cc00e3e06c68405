package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// statsReport is the output of stats; -json prints it in this form.
type statsReport struct {
	Database           string         `json:"database"`
	DiskBytes          int64          `json:"diskBytes"`
	Files              int            `json:"files"`
	Commits            uint64         `json:"commits"`
	Entries            uint64         `json:"entries"`
	Tombstones         uint64         `json:"tombstones"`
	RawBytes           uint64         `json:"rawBytes"`
	Tables             int            `json:"tables"`
	TableBytes         uint64         `json:"tableBytes"`
	ValueFiles         int            `json:"valueFiles"`
	ValueFileBytes     uint64         `json:"valueFileBytes"`
	ValueBytes         uint64         `json:"valueBytes"`
	OtherBytes         int64          `json:"otherBytes"` // of all other files
	MemtableBytes      int64          `json:"memtableBytes"`
	LiveBytes          uint64         `json:"liveBytes"`
	SpaceAmplification float64        `json:"spaceAmplification"`
	PendingBytes       uint64         `json:"pendingBytes"`
	YoungRuns          int            `json:"youngRuns"`
	DroppedRuns        int            `json:"droppedRuns"`
	Buckets            []bucketReport `json:"buckets,omitempty"` // nil unless asked for
}

// bucketReport is the output of stats about one bucket.
type bucketReport struct {
	Bucket   []string `json:"bucket,omitempty"`   // absent for the root
	Bucket64 [][]byte `json:"bucket64,omitempty"` // instead, if a name is not valid UTF-8
	Keys     uint64   `json:"keys"`
	Bytes    uint64   `json:"bytes"`

	StoredBytes  uint64 `json:"storedBytes"`  // of values in tables
	ZstdBytes    uint64 `json:"zstdBytes"`    // of values compressed by zstd there
	PatternBytes uint64 `json:"patternBytes"` // of values encoded one by one there

	at path
}

func statsCommand() *command {
	flags := cmdline.NewFlags()
	buckets := flags.Bool("buckets", false, "also count what is in each bucket")
	asJSON := flags.Bool("json", false, "print one JSON object")
	return &command{
		Name:      "stats",
		Arguments: "DB",
		Summary:   "print what the database holds, and how much space it takes",
		Details: `
Entries include older versions of a key until a compaction removes them, and the
entries that represent buckets and sequences. The keys and bytes of a bucket
exclude nested buckets; until a compaction they include older versions, deleted
keys and expired ones. "stoat compact" removes all of these.

Counters of what was written since opening are not shown, because this command
writes nothing; a program can read its own with DB.Stats.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			r, err := measure(s, args[0], *buckets)
			if err != nil {
				return err
			}
			if *asJSON {
				return json.NewEncoder(s.out).Encode(r)
			}
			return r.print(s)
		},
	}
}

// measure opens the database and returns its numbers, with or without its buckets.
func measure(s *stdio, dir string, buckets bool) (*statsReport, error) {
	db, err := open(s, dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	st := db.Stats()
	files, size, err := diskUsage(dir)
	r := &statsReport{
		Database:           dir,
		DiskBytes:          size,
		Files:              files,
		Commits:            st.Commits,
		Entries:            st.Entries,
		Tombstones:         st.Tombstones,
		RawBytes:           st.RawBytes,
		Tables:             st.Tables,
		TableBytes:         st.TableBytes,
		ValueFiles:         st.ValueFiles,
		ValueFileBytes:     st.ValueFileBytes,
		ValueBytes:         st.ValueBytes,
		OtherBytes:         max(0, size-int64(st.TableBytes+st.ValueFileBytes)),
		MemtableBytes:      st.MemtableBytes,
		LiveBytes:          st.LiveBytes,
		SpaceAmplification: st.SpaceAmplification(),
		PendingBytes:       st.PendingBytes,
		YoungRuns:          st.YoungRuns,
		DroppedRuns:        st.DroppedRuns,
	}
	if buckets && err == nil {
		err = db.View(func(tx *stoat.Tx) error { return r.addBucket(tx, nil) })
	}
	return r, errors.Join(err, db.Close())
}

// addBucket adds the numbers of a bucket and of all buckets within it.
func (r *statsReport) addBucket(b stoat.KeySpace, at path) error {
	stats, err := b.Stats()
	if err != nil {
		return err
	}
	names := new(record)
	names.setBucket(at)
	r.Buckets = append(r.Buckets, bucketReport{
		Bucket: names.Bucket, Bucket64: names.Bucket64,
		Keys: stats.Keys, Bytes: stats.Bytes, StoredBytes: stats.StoredBytes,
		ZstdBytes: stats.ZstdBytes, PatternBytes: stats.PatternBytes, at: at,
	})
	for name := range b.Buckets() {
		child, err := b.Bucket(name)
		if err != nil {
			return err
		}
		if err := r.addBucket(child, append(slices.Clip(at), string(name))); err != nil {
			return err
		}
	}
	return nil
}

// print writes the numbers as tables.
func (r *statsReport) print(s *stdio) error {
	t := &table{s, []column{{width: 17}, {width: 12, right: true, look: bold}, {}}}
	for i, section := range r.sections() {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintln(s.out, s.paint(section.title, bold))
		for _, row := range section.rows {
			if err := t.row("  "+row[0], row[1], row[2]); err != nil {
				return err
			}
		}
	}
	return r.printBuckets(s)
}

// statsSection is a group of rows: the name, the number, and its explanation.
type statsSection struct {
	title string
	rows  [][3]string
}

// sections returns the numbers in the order of printing.
func (r *statsReport) sections() []statsSection {
	text := func(n uint64) string { return progress.Bytes(float64(n)) }
	count := func(n int) string { return progress.Count(int64(n)) }
	return []statsSection{
		{"What is stored", [][3]string{
			{"commits", progress.Count(int64(r.Commits)), "since the database was created"},
			{"entries", progress.Count(int64(r.Entries)), "older ones of the same key included"},
			{"tombstones", progress.Count(int64(r.Tombstones)), "entries that say that a key is gone"},
			{"in tables", text(r.RawBytes), "keys and values, before compression"},
			{"large values", text(r.ValueBytes), "outside of tables"},
		}},
		{"Where it lies", [][3]string{
			{"on disk", text(uint64(r.DiskBytes)), progress.Counted(int64(r.Files), "file") + " in all"},
			{"tables", text(r.TableBytes), progress.Counted(int64(r.Tables), "file") + share(
				r.TableBytes, r.RawBytes, "what is in them")},
			{"value files", text(r.ValueFileBytes), progress.Counted(int64(r.ValueFiles), "file") + share(
				r.ValueBytes, r.ValueFileBytes, "it in use")},
			{"log and others", text(uint64(r.OtherBytes)), "writes not in tables yet, manifests"},
			{"memtables", text(uint64(r.MemtableBytes)), "of memory, read back from the log"},
		}},
		{"What it costs", [][3]string{
			{"space", progress.Significant(r.SpaceAmplification), "bytes in files for each one in use"},
			{"to be compacted", text(r.PendingBytes), "young runs, values to compress, garbage"},
			{"young runs", count(r.YoungRuns), "to search besides the bottom run"},
			{"dropped runs", count(r.DroppedRuns), "of deleted buckets, still taking space"},
		}},
	}
}

// share returns the share of the part in the whole, to follow a count.
func share(part, whole uint64, of string) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of %s", 100*float64(part)/float64(whole), of)
}

// printBuckets writes the table of the buckets if they were measured.
func (r *statsReport) printBuckets(s *stdio) error {
	if len(r.Buckets) == 0 {
		return nil
	}
	const pathColumns = 29
	fmt.Fprintln(s.out)
	columns := func(l style) []column {
		return []column{
			{pathColumns, false, l}, {14, true, l}, {10, true, l}, {10, true, l}, {9, true, l},
		}
	}
	head := &table{s, columns(bold)}
	if err := head.row("Bucket", "keys", "bytes", "stored", "codec"); err != nil {
		return err
	}
	rows := &table{s, columns(plain)}
	for _, b := range r.Buckets {
		name := b.at.String()
		if name == "" {
			name = "(root)"
		}
		err := rows.row("  "+shorten(name, pathColumns-2), progress.Count(int64(b.Keys)),
			progress.Bytes(float64(b.Bytes)), progress.Bytes(float64(b.StoredBytes)), b.codec())
		if err != nil {
			return err
		}
	}
	return nil
}

// codec returns how most of the bucket's values in tables are stored.
func (b *bucketReport) codec() string {
	switch {
	case b.StoredBytes == 0:
		return "-"
	case b.PatternBytes > b.ZstdBytes && b.PatternBytes >= b.Bytes/2:
		return "pattern"
	case b.ZstdBytes >= b.Bytes/2:
		return "zstd"
	case b.PatternBytes+b.ZstdBytes > 0:
		return "mixed"
	}
	return "raw"
}

// diskUsage returns the number and the total size of the files in a directory.
func diskUsage(dir string) (files int, size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by the process that has the database open
		}
		if err != nil {
			return 0, 0, err
		}
		if info.Mode().IsRegular() {
			files++
			size += info.Size()
		}
	}
	return files, size, nil
}
