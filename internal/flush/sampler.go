package flush

import (
	"bytes"
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
)

// samplerOf returns the sampler of a run with the given configuration. putsFrom returns the run's
// puts from a key on.
func samplerOf(
	config *run.Config, putsFrom func(first []byte) iter.Seq2[[]byte, []byte],
) run.Sampler {
	return func(bucket uint64, size int) iter.Seq[keyspace.Entry] {
		first := keyspace.AppendPrefix(nil, bucket)
		end := keyspace.Successor(first)
		return run.SampleEvenly(func(yield func(keyspace.Entry) bool) {
			for key, value := range putsFrom(first) {
				if bytes.Compare(key, end) >= 0 {
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

// puts returns the memtable's puts from a key on.
func (j Job) puts(first []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		var c memtable.Cursor
		c.Init(j.Root)
		for ok := c.Seek(first); ok; ok = c.Next() {
			if c.Kind() == keyspace.KindPut && !yield(c.Key(), c.Value()) {
				return
			}
		}
	}
}
