package bench_test

import (
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	raftbench "github.com/hashicorp/raft/bench"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bothStores is what raft's benchmarks need.
type bothStores interface {
	raft.LogStore
	raft.StableStore
}

// BenchmarkStore runs the benchmarks of package raft on this package and on raft-boltdb. All
// commits are durable.
func BenchmarkStore(b *testing.B) {
	for _, engine := range []struct {
		name string
		open func(b *testing.B) bothStores
	}{{"stoat", stoatStore}, {"bolt", boltStore}} {
		logs := func(name string, run func(*testing.B, raft.LogStore)) {
			b.Run(name+"/"+engine.name, func(b *testing.B) { run(b, engine.open(b)) })
		}
		stable := func(name string, run func(*testing.B, raft.StableStore)) {
			b.Run(name+"/"+engine.name, func(b *testing.B) { run(b, engine.open(b)) })
		}
		logs("FirstIndex", raftbench.FirstIndex)
		logs("LastIndex", raftbench.LastIndex)
		logs("GetLog", raftbench.GetLog)
		logs("StoreLog", raftbench.StoreLog)
		logs("StoreLogs", raftbench.StoreLogs)
		logs("DeleteRange", raftbench.DeleteRange)
		logs("StoreLogs_64", storeMany)
		logs("DeleteRange_10000", deleteMany)
		stable("Set", raftbench.Set)
		stable("Get", raftbench.Get)
		stable("SetUint64", raftbench.SetUint64)
		stable("GetUint64", raftbench.GetUint64)
	}
}

func stoatStore(b *testing.B) bothStores {
	db, err := stoat.Open(b.TempDir(), nil)
	ok(b, err)
	b.Cleanup(func() { _ = db.Close() })
	s, err := raftstore.New(db, "raft")
	ok(b, err)
	return s
}

func boltStore(b *testing.B) bothStores {
	s, err := raftboltdb.NewBoltStore(filepath.Join(b.TempDir(), "raft.db"))
	ok(b, err)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// batch returns n entries of 400 bytes after an index.
func batch(after uint64, n int) (logs []*raft.Log) {
	for i := range uint64(n) {
		logs = append(logs, &raft.Log{Index: after + i + 1, Term: 1, Data: make([]byte, 400)})
	}
	return logs
}

// storeMany stores entries in batches of the size that raft sends at most.
func storeMany(b *testing.B, store raft.LogStore) {
	last := uint64(0)
	for b.Loop() {
		ok(b, store.StoreLogs(batch(last, 64)))
		last += 64
	}
}

// deleteMany deletes what a snapshot has, as raft does after every 10,000 entries or so.
func deleteMany(b *testing.B, store raft.LogStore) {
	last := uint64(0)
	for b.Loop() {
		b.StopTimer()
		ok(b, store.StoreLogs(batch(last, 10_000)))
		b.StartTimer()
		ok(b, store.DeleteRange(last+1, last+10_000))
		last += 10_000
	}
}
