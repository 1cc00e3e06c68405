package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Shape is what an engine's entries are in at one moment, and the jobs that change that.
type Shape struct {
	Memtables  []Memtable // newest first; the first one takes the commits
	Young      []Run      // newest first
	Bottom     Run
	ValueFiles []ValueFile // by number
	Jobs       []Job       // in the order in which they began
}

// Memtable describes a memtable.
type Memtable struct {
	Entries int
	Bytes   int64
}

// Run describes a run.
type Run struct {
	Tables []Table
	Ranges int // that are deleted from older runs
}

// Table describes a table.
type Table struct {
	Number, Bytes, RawBytes uint64
	ValueBytes              uint64 // in value files
	Entries, Tombstones     uint64
	First, Last             []byte // internal keys
}

// ValueFile describes a value file.
type ValueFile struct {
	Number, Bytes, Live uint64
	Log                 bool
}

// Job is a flush or a compaction that runs. Immutable.
type Job struct {
	Why      string // of a compaction, why it was picked; empty for a flush
	Began    time.Time
	Tables   []uint64 // the numbers of the tables that it reads; none for a flush
	ToBottom bool     // a compaction into the bottom run
	Bytes    uint64   // of those tables, or of the memtable
	Written  uint64   // bytes of files so far
}

// Shape returns what the entries are in. It reads no files. The memory of a replica's memtables
// counts for the first of them.
func (e *Engine) Shape() Shape {
	s, version := e.memoryShape()
	s.Bottom = shapeOf(version.Bottom)
	for _, r := range version.Young {
		s.Young = append(s.Young, shapeOf(r))
	}
	for _, f := range version.ValueFiles {
		live := min(f.Live, f.Size) // tables of two runs may point to the same values
		s.ValueFiles = append(s.ValueFiles, ValueFile{f.Number, f.Size, live, f.Log})
	}
	return s
}

// memoryShape returns the part of the shape that takes the lock, and the version of the same
// moment.
func (e *Engine) memoryShape() (s Shape, version *manifest.Version) {
	e.mu.Lock()
	defer e.mu.Unlock()
	state := e.state.Load()
	s.Memtables = append(s.Memtables, Memtable{state.Mem.Len(), e.memory.active.Load()})
	for i, root := range state.Sealed {
		m := Memtable{Entries: root.Len()}
		if last := len(e.mu.sealed) - 1; i <= last {
			m.Bytes = e.mu.sealed[last-i].bytes
		}
		s.Memtables = append(s.Memtables, m)
	}
	for _, r := range e.mu.running {
		job := r.Job
		job.Written = r.written.Load()
		s.Jobs = append(s.Jobs, job)
	}
	return s, state.Levels.Version
}

func shapeOf(r manifest.Run) Run {
	shape := Run{Tables: make([]Table, len(r.Tables)), Ranges: len(r.Deleted)}
	for i, t := range r.Tables {
		shape.Tables[i] = Table{
			Number: t.Number, Bytes: t.Size, RawBytes: t.RawBytes,
			Entries: t.Entries, Tombstones: t.Tombstones, First: t.Smallest, Last: t.Largest,
		}
		for _, share := range t.Values {
			shape.Tables[i].ValueBytes += share.Bytes
		}
	}
	return shape
}

// running is a job that Shape shows.
type running struct {
	Job
	written atomic.Uint64
}

// began makes Shape show a job until it has ended.
func (e *Engine) began(r *running) {
	r.Began = time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.running = append(e.mu.running, r)
}

// ended makes Shape no longer show a job.
func (e *Engine) ended(r *running) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endedLocked(r)
}

// endedLocked is ended. It is to be called when what the job has done is published.
func (e *Engine) endedLocked(r *running) {
	e.mu.running = slices.DeleteFunc(e.mu.running, func(o *running) bool { return o == r })
}
