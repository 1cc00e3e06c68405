package run

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Places is how many places of a bucket a [Spread] is taken from.
const Places = 32

// Spread yields puts of a bucket from all over what is likely to be in a run: about so many bytes,
// as they are counted by [EntryBytes], of neighbours at each of the [Places]. It may yield nothing,
// and less where something cannot be read: whoever writes it will find out. An entry is valid as
// long as the run is being written; its value may lie in the map of a file.
//
// A bucket's first values tell little about the others if they drift with the keys, as numbers with
// more and more digits do: with a dictionary made of them, the rest is half again as large.
type Spread func(bucket uint64, bytes int) iter.Seq[keyspace.Entry]

// EntryBytes is what an entry with a value of this length counts for in a [Spread]: never nothing,
// so that a place does not reach far where values are empty.
func EntryBytes(value int) int { return 16 + value }

// Stretches returns about so many bytes of all, as a [Spread] yields them. It goes through all
// twice.
func Stretches(all iter.Seq[keyspace.Entry], bytes int) iter.Seq[keyspace.Entry] {
	return func(yield func(keyspace.Entry) bool) {
		total := 0
		for e := range all {
			total += EntryBytes(e.Size())
		}
		stretch := max(1, bytes/Places)
		period := max(stretch, total/Places) // from the start of one stretch to the next
		at := 0
		for e := range all {
			if at%period < stretch && !yield(e) {
				return
			}
			at += EntryBytes(e.Size())
		}
	}
}

// widen makes t a trial of values from all over the bucket, if they are known. Nothing is gained if
// the values that wait are all there is.
func (w *Writer) widen(t *trial) {
	if w.config.Spread == nil || t.whole {
		return
	}
	var values [][]byte
	for e := range w.config.Spread(w.choice.bucket, w.config.Sample) {
		if w.large(e) {
			continue
		}
		e, err := w.decoded(e, nil)
		if err != nil {
			break // whoever writes it will find out
		}
		values = append(values, e.Value)
	}
	if wide := newTrial(values, w.config.Sample, false); wide.large() {
		*t = *wide
	}
}
