package studio

import (
	"net/http"

	"github.com/stoatdb/stoat"
)

const (
	tablesShown = 200 // of a run; beyond that, neighbours are summed up
	runsShown   = 12  // the newest of the young ones
	readsShown  = 200 // tables that a job reads
)

// shapeAnswer is what the entries of the database are in, from the newest to the oldest.
type shapeAnswer struct {
	Memtables []memtableRow `json:"memtables"`
	Runs      []runRow      `json:"runs"`
	MoreRuns  int           `json:"moreRuns,omitempty"` // young ones that are not shown
	Jobs      []jobRow      `json:"jobs"`
}

// memtableRow is a memtable.
type memtableRow struct {
	Bytes  int64 `json:"bytes"`
	Sealed bool  `json:"sealed"` // it is full, and waits to be flushed
}

// runRow is a run.
type runRow struct {
	Level  string     `json:"level"` // young or bottom
	Tables []tableRow `json:"tables"`
	More   int        `json:"more"` // how many tables there are beyond those rows
}

// tableRow is one table, or several neighbours.
type tableRow struct {
	Number     uint64   `json:"number"`           // of the first one
	Tables     int      `json:"tables,omitempty"` // how many they are; absent for one
	Bytes      uint64   `json:"bytes"`
	Raw        uint64   `json:"raw"` // before compression
	Entries    uint64   `json:"entries"`
	Tombstones uint64   `json:"tombstones"`
	First      placeRow `json:"first"`
	Last       placeRow `json:"last"`
}

// jobRow is a flush or a compaction that runs.
type jobRow struct {
	Kind    string   `json:"kind"` // flush or compaction
	Reason  string   `json:"reason,omitempty"`
	Tables  []uint64 `json:"tables,omitempty"` // that it reads, the first of them
	Count   int      `json:"count,omitempty"`  // how many it reads
	Bytes   uint64   `json:"bytes"`            // that it reads
	Written uint64   `json:"written"`          // so far
}

func (h *Handler) shape(r *http.Request) (any, error) {
	var a shapeAnswer
	names := bucketNames{}
	err := h.use(r.Context(), func(db *stoat.DB) error {
		a = summarize(db.Shape(), names)
		return db.View(func(tx *stoat.Tx) error { return names.find(r.Context(), tx) })
	})
	if err != nil {
		return nil, err
	}
	for _, run := range a.Runs {
		for i := range run.Tables {
			run.Tables[i].First.name(names)
			run.Tables[i].Last.name(names)
		}
	}
	return a, nil
}

// summarize returns what is shown of a shape, and adds the buckets to name to those wanted.
func summarize(s stoat.Shape, wanted bucketNames) shapeAnswer {
	a := shapeAnswer{Memtables: []memtableRow{}, Runs: []runRow{}, Jobs: []jobRow{}}
	for i, m := range s.Memtables {
		a.Memtables = append(a.Memtables, memtableRow{m.Bytes, i > 0})
	}
	shown := s.Young[:min(len(s.Young), runsShown)]
	a.MoreRuns = len(s.Young) - len(shown)
	for _, run := range shown {
		a.Runs = append(a.Runs, summarizeRun("young", run, wanted))
	}
	a.Runs = append(a.Runs, summarizeRun("bottom", s.Bottom, wanted))
	for _, j := range s.Jobs {
		row := jobRow{
			Kind: "flush", Reason: j.Reason, Count: len(j.Tables),
			Tables: j.Tables[:min(len(j.Tables), readsShown)], Bytes: j.Bytes, Written: j.Written,
		}
		if j.Reason != "" {
			row.Kind = "compaction"
		}
		a.Jobs = append(a.Jobs, row)
	}
	return a
}

// summarizeRun returns at most tablesShown rows of about as many tables each.
func summarizeRun(level string, run stoat.RunInfo, wanted bucketNames) runRow {
	n := len(run.Tables)
	rows := min(n, tablesShown)
	row := runRow{Level: level, Tables: make([]tableRow, rows), More: n - rows}
	for i := range rows {
		row.Tables[i] = summarizeTables(run.Tables[i*n/rows:(i+1)*n/rows], wanted)
	}
	return row
}

// summarizeTables returns the row of neighbouring tables, of which there is at least one.
func summarizeTables(tables []stoat.TableInfo, wanted bucketNames) tableRow {
	row := tableRow{Number: tables[0].Number}
	if len(tables) > 1 {
		row.Tables = len(tables)
	}
	for _, t := range tables {
		row.Bytes += t.Bytes
		row.Raw += t.RawBytes
		row.Entries += t.Entries
		row.Tombstones += t.Tombstones
	}
	row.First = placeRowOf(tables[0].First, wanted)
	row.Last = placeRowOf(tables[len(tables)-1].Last, wanted)
	return row
}
