package engine

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/wal"
)

// replay returns what the manifest says together with the log segments that it does not cover, each
// of which goes into a sealed memtable.
func (d directory) replay(
	state *manifest.State, found folder.Listing, o Options,
) (recovered, error) {
	version := state.Version
	s := recovered{
		store:      newStore(d, state.Database, o),
		branch:     version.Branch,
		journalAt:  state.Number,
		edits:      state.Edits,
		lastCommit: version.LastCommit,
		nextNumber: max(found.Highest+1, version.NextNumber),
	}
	s.claimed = found.Claim
	if state.Torn {
		s.edits++
	}
	s.levels = s.levelsOf(version)
	below := &superversion.Superversion{Levels: s.levels}
	for _, number := range found.Of(folder.Log) {
		if number < version.LogNumber {
			continue
		}
		full, err := s.replaySegment(number, below)
		if err != nil {
			return recovered{}, err
		}
		if s.lastCommit = full.lastCommit; !full.root.Empty() {
			s.replayed = append(s.replayed, full)
			below.Sealed = slices.Insert(below.Sealed, 0, full.root)
		}
	}
	return s, nil
}

// replaySegment reads a log segment into a memtable that lies above what is below.
func (s *recovered) replaySegment(number uint64, below *superversion.Superversion) (sealed, error) {
	full := sealed{log: number}
	mem := newMemtable()
	apply := func(_ uint64, payloads []wal.Payload) (err error) {
		full.root, err = applyCommit(mem, below, payloads)
		return err
	}
	var err error
	full.lastCommit, err = wal.Replay(s.folder, s.dir, number, s.database, s.lastCommit, apply)
	if err != nil || full.root.Empty() {
		return full, err
	}
	full.bytes = mem.Bytes()
	full.logBytes, err = s.fileSize(folder.Log.Name(number))
	return full, err
}

// applyCommit puts one commit's entries into a memtable.
func applyCommit(
	mem *memtable.Memtable, below memtable.Below, payloads []wal.Payload,
) (memtable.Root, error) {
	edit := mem.BeginOver(below)
	for _, payload := range payloads {
		if err := edit.Replay(payload.Bytes, payload.At); err != nil {
			edit.Rollback()
			return memtable.Root{}, err
		}
	}
	return edit.Commit(), nil
}

// syncLogs syncs the replayed log segments: they may hold commits that a killed process wrote but
// never synced, and what is built on them must not outlive them.
func (d directory) syncLogs(replayed []sealed) error {
	for _, full := range replayed {
		if err := d.syncFile(folder.Log.Name(full.log)); err != nil {
			return fmt.Errorf("sync recovered log %06d: %w", full.log, err)
		}
	}
	if len(replayed) == 0 {
		return nil
	}
	return d.folder.SyncDir(d.dir)
}
