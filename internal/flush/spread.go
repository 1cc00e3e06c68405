package flush

import (
	"bytes"
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
)

// spread returns the [run.Spread] of the memtable for a run that is written like that.
func (j Job) spread(config *run.Config) run.Spread {
	return func(bucket uint64, size int) iter.Seq[keyspace.Entry] {
		lower := keyspace.AppendPrefix(nil, bucket)
		upper := keyspace.Successor(lower)
		return run.Stretches(func(yield func(keyspace.Entry) bool) {
			var c memtable.Cursor
			c.Init(j.Root)
			for ok := c.Seek(lower); ok && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
				if c.Kind() != keyspace.KindPut || config.Outside(c.Value()) {
					continue
				}
				if !yield(keyspace.Entry{Kind: keyspace.KindPut, Value: c.Value()}) {
					return
				}
			}
		}, size)
	}
}

// spreadOf returns the [run.Spread] of pairs, which must be sorted, for a run that is written like
// that.
func spreadOf(pairs *sorter.Sorter, config *run.Config) run.Spread {
	return func(bucket uint64, size int) iter.Seq[keyspace.Entry] {
		lower := keyspace.AppendPrefix(nil, bucket)
		upper := keyspace.Successor(lower)
		return run.Stretches(func(yield func(keyspace.Entry) bool) {
			for key, value := range pairs.From(lower) {
				if bytes.Compare(key, upper) >= 0 {
					return
				}
				e := keyspace.Entry{Kind: keyspace.KindPut, Value: value}
				if !config.Outside(value) && !yield(e) {
					return
				}
			}
		}, size)
	}
}
