package engine

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Each session writes more than Close compresses, and none lasts long enough for a compaction.
func TestClose_leavesManyQuickSessionsReadable(t *testing.T) {
	const least = 1000
	disk, o := memfs.NewCrashable(), Options{Tuning: Tuning{CloseBytes: least, IdleAfter: time.Hour}}
	words := ascendingWords("k", 100)
	for i, word := range words {
		e := mustOpen(t, disk, o)
		mustCommit(t, e, word)
		if n := e.Stats().MemtableBytes; n <= least {
			t.Fatalf("the memtable has %d bytes only", n)
		}
		ok(t, e.Close())
		runs, most := len(e.state.Load().Levels.Young), e.picker().CrowdedRuns()
		if runs > most {
			t.Fatalf("%d young runs after %d sessions, want %d at most", runs, i+1, most)
		}
		wantWords(t, mustOpen(t, disk, Options{ReadOnly: true}), words[:i+1]...)
	}
	e := mustOpen(t, disk.CrashKeepNone(), o)
	wantWords(t, e, words...)
	ok(t, e.Compact(t.Context()))
	if s := e.Stats(); s.YoungRuns > 0 || s.ValueBytes > 0 {
		t.Errorf("%d young runs and %d bytes of values are left", s.YoungRuns, s.ValueBytes)
	}
	ok(t, e.Close())
}

// The tables of each session are larger than what Close compacts, and nothing in them is deferred.
func TestClose_joinsTheRunsOfLargeSessionsOnceTheyCrowd(t *testing.T) {
	const sessions = 80
	disk, o := memfs.New(), Options{Tuning: Tuning{CloseBytes: 100, IdleAfter: time.Hour}}
	o.Compression = CompressionNone // leaves short values in tables
	words := ascendingWords("k", sessions*20)
	most := 0
	for i := range sessions {
		e := mustOpen(t, disk, o)
		w, err := e.Begin()
		ok(t, err)
		for j := i; j < len(words); j += sessions {
			ok(t, w.Put(dataKey("%s", words[j]), []byte(words[j]), 0))
		}
		ok(t, w.Commit())
		e.yield.Store(true) // no compaction until Close
		ok(t, e.Close())
		v := e.state.Load().Levels.Version
		if i == 0 && v.Young[0].Tables[0].RawBytes <= 100 {
			t.Fatalf("a table of %d bytes only", v.Young[0].Tables[0].RawBytes)
		}
		most = max(most, len(v.Young)-e.picker().CrowdedRuns())
	}
	if most > 10 {
		t.Errorf("%d young runs too many", most)
	}
	wantWords(t, mustOpen(t, disk, Options{ReadOnly: true}), words...)
}

func TestClose_leavesFewTablesOfManySessions(t *testing.T) {
	disk := memfs.New()
	words := ascendingWords("k", 100)
	for _, word := range words {
		e := mustOpen(t, disk, Options{})
		mustCommit(t, e, word)
		ok(t, e.Close())
	}
	if tables := named(t, disk, tableSuffix); len(tables) > 6 {
		t.Errorf("tables %v, want a few", tables)
	}
	e := mustOpen(t, disk, Options{})
	wantWords(t, e, words...)
	ok(t, e.Close())
}
