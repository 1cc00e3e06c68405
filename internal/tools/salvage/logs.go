package salvage

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/wal"
)

// log replays a segment as far as its transactions are whole.
func (p *plan) log(number uint64) layer {
	name := folder.Log.Name(number)
	r := &replay{
		memory: memtable.New(wal.HeaderBytes), newest: p.lastCommit, known: p.version != nil,
	}
	damage, err := wal.Salvage(p.original, p.dir, number, p.database, r.take)
	p.recorder.made.Logs++
	if err != nil {
		p.recorder.damage(name, err)
		p.recorder.older(name, "it cannot be read to its end")
	}
	p.recorder.log(name, damage, r.lost, r.after)
	if p.first == 0 {
		p.first = r.first
	}
	p.lastCommit = max(p.lastCommit, r.newest)
	s := &memorySource{empty: r.root.Len() == 0}
	s.cursor.Init(r.root)
	return layer{source: s, deleted: r.root.Deleted()}
}

// replay is the state of replaying a segment.
type replay struct {
	memory *memtable.Memtable
	root   memtable.Root
	first  uint64 // commit that was taken; 0 if none was
	newest uint64 // commit so far, or in tables
	known  bool   // what is in tables is
	lost   uint64 // transactions
	after  uint64 // the commit before the first of them
}

// take replays a transaction, unless it is in tables, and counts the missing ones before it.
func (r *replay) take(commit uint64, payloads []wal.Payload) error {
	if r.known && commit <= r.newest {
		return nil
	}
	missing := uint64(0)
	if (r.known || r.newest > 0) && commit > r.newest {
		missing = commit - r.newest - 1
	}
	if r.first == 0 {
		r.first = commit
	}
	if root, whole := apply(r.memory, payloads); whole {
		r.root = root
	} else {
		missing++
	}
	if missing > 0 && r.lost == 0 {
		r.after = r.newest
	}
	r.lost += missing
	r.newest = commit
	return nil
}

// apply puts the entries of one commit into memory, unless they are not valid.
func apply(memory *memtable.Memtable, payloads []wal.Payload) (root memtable.Root, whole bool) {
	edit := memory.Begin()
	for _, payload := range payloads {
		if err := edit.Replay(payload.Bytes, payload.At); err != nil {
			edit.Rollback()
			return memtable.Root{}, false
		}
	}
	return edit.Commit(), true
}

// memorySource is the entries of a log.
type memorySource struct {
	cursor memtable.Cursor
	empty  bool
	begun  bool
}

func (s *memorySource) next() bool {
	if !s.begun {
		s.begun = true
		return !s.empty && s.cursor.First()
	}
	return s.cursor.Next()
}

func (s *memorySource) key() []byte { return bytes.Clone(s.cursor.Key()) }

func (s *memorySource) entry() (e keyspace.Entry, problem string) {
	e.Kind = s.cursor.Kind()
	if e.Kind != keyspace.KindDelete {
		e.Value, e.Until = s.cursor.Value(), s.cursor.Until()
	}
	return e, ""
}
