package flush

import (
	"bytes"
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
)

// spread is the [run.Spread] of the memtable.
func (j Job) spread(bucket uint64, size int) iter.Seq2[keyspace.Entry, error] {
	lower := keyspace.AppendPrefix(nil, bucket)
	upper := keyspace.Successor(lower)
	return run.Stretches(func(yield func(keyspace.Entry) bool) {
		var c memtable.Cursor
		c.Init(j.Root)
		for ok := c.Seek(lower); ok && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
			if c.Kind() != keyspace.KindPut {
				continue
			}
			if !yield(keyspace.Entry{Kind: keyspace.KindPut, Value: c.Value()}) {
				return
			}
		}
	}, size)
}

// spreadOf returns the [run.Spread] of pairs, which must be sorted.
func spreadOf(pairs *sorter.Sorter) run.Spread {
	return func(bucket uint64, size int) iter.Seq2[keyspace.Entry, error] {
		return run.Stretches(func(yield func(keyspace.Entry) bool) {
			for key, value := range pairs.All() {
				id, ok := keyspace.BucketOf(key)
				if !ok || id != bucket {
					continue
				}
				if !yield(keyspace.Entry{Kind: keyspace.KindPut, Value: value}) {
					return
				}
			}
		}, size)
	}
}
