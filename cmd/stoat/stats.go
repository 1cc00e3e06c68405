package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stoatdb/stoat"
)

// statsReport is what stats prints, as JSON in this form.
type statsReport struct {
	Database      string `json:"database"`
	DiskBytes     int64  `json:"diskBytes"`
	Files         int    `json:"files"`
	Commits       uint64 `json:"commits"`
	Entries       uint64 `json:"entries"`
	Tombstones    uint64 `json:"tombstones"`
	Tables        int    `json:"tables"`
	YoungRuns     int    `json:"youngRuns"`
	DroppedRuns   int    `json:"droppedRuns"`
	TableBytes    uint64 `json:"tableBytes"`
	RawBytes      uint64 `json:"rawBytes"`
	MemtableBytes int64  `json:"memtableBytes"`
}

func statsCommand() *command {
	flags := newFlags()
	asJSON := flags.Bool("json", false, "print one JSON object")
	return &command{
		name:      "stats",
		arguments: "DB",
		summary:   "print how much there is of what",
		details: `
Entries count older versions of the same key until a merge removes them, and the
entries that stand for buckets and sequences.`,
		min: 1, max: 1,
		flags: flags,
		run: func(s *stdio, args []string) error {
			r, err := measure(args[0])
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

// measure opens the database and returns its numbers.
func measure(dir string) (statsReport, error) {
	db, err := open(dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		return statsReport{}, err
	}
	st := db.Stats()
	files, size, err := diskUsage(dir)
	return statsReport{
		Database:      dir,
		DiskBytes:     size,
		Files:         files,
		Commits:       st.Commits,
		Entries:       st.Entries,
		Tombstones:    st.Tombstones,
		Tables:        st.Tables,
		YoungRuns:     st.YoungRuns,
		DroppedRuns:   st.DroppedRuns,
		TableBytes:    st.TableBytes,
		RawBytes:      st.RawBytes,
		MemtableBytes: st.MemtableBytes,
	}, errors.Join(err, db.Close())
}

// print writes the numbers as a table.
func (r *statsReport) print(s *stdio) error {
	ratio := ""
	if r.RawBytes > 0 {
		ratio = fmt.Sprintf("%.0f %% of the %s put in",
			100*float64(r.TableBytes)/float64(r.RawBytes), byteText(float64(r.RawBytes)))
	}
	t := &table{s, []column{{width: 14}, {width: 14, right: true, look: bold}, {}}}
	for _, row := range [][3]string{
		{"on disk", byteText(float64(r.DiskBytes)), counted(int64(r.Files), "file")},
		{"commits", countText(int64(r.Commits)), "since the database was created"},
		{"entries", countText(int64(r.Entries)), "with older versions of the same key"},
		{"tombstones", countText(int64(r.Tombstones)), "entries that say that a key is gone"},
		{"tables", countText(int64(r.Tables)), ""},
		{"table bytes", byteText(float64(r.TableBytes)), ratio},
		{"young runs", countText(int64(r.YoungRuns)), "that wait to be merged"},
		{"dropped runs", countText(int64(r.DroppedRuns)), "of deleted buckets, still taking space"},
		{"memtables", byteText(float64(r.MemtableBytes)), "read back from the log"},
	} {
		if err := t.row(row[:]...); err != nil {
			return err
		}
	}
	return nil
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
