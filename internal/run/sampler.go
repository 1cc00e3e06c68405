package run

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// SamplePoints is how many points of a bucket a [Sampler] takes neighbours from.
const SamplePoints = 32

// Sampler yields puts of a bucket from all over what is likely to be in the run: neighbours at each
// of [SamplePoints] points, about so many bytes in all, as [EntryBytes] counts them. It may yield
// nothing, or less where something cannot be read: the job will report that when it writes it. An
// entry is valid as long as the run is being written; its value may lie in a memory-mapped file.
//
// A bucket's first values tell little about the others if values drift with the keys, as numbers
// that gain digits do: with a dictionary trained on the first, the others are half as large again.
type Sampler func(bucket uint64, bytes int) iter.Seq[keyspace.Entry]

// EntryBytes is what an entry with a value of this length counts for in a [Sampler]. It is never 0,
// so that a point does not reach far where values are empty.
func EntryBytes(value int) int { return 16 + value }

// SampleEvenly returns about so many bytes of all, as a [Sampler] yields them. It iterates twice.
func SampleEvenly(all iter.Seq[keyspace.Entry], bytes int) iter.Seq[keyspace.Entry] {
	return func(yield func(keyspace.Entry) bool) {
		total := 0
		for e := range all {
			total += EntryBytes(e.Size())
		}
		length := max(1, bytes/SamplePoints)
		period := max(length, total/SamplePoints) // from one point to the next
		at := 0
		for e := range all {
			if at%period < length && !yield(e) {
				return
			}
			at += EntryBytes(e.Size())
		}
	}
}
