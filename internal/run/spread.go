package run

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Places is how many places of a bucket a [Spread] is taken from.
const Places = 32

// Spread yields entries of a bucket from all over what a run is going to have of it: about so many
// bytes of values, which are neighbours at each of the [Places]. It may yield nothing. An entry is
// valid as long as the run is being written.
//
// A bucket's first values tell little about the others if they drift with the keys, as numbers with
// more and more digits do: with a dictionary made of them, the rest is half again as large.
type Spread func(bucket uint64, bytes int) iter.Seq2[keyspace.Entry, error]

// Stretches returns about so many bytes of all, as a [Spread] yields them. It goes through all
// twice.
func Stretches(all iter.Seq[keyspace.Entry], bytes int) iter.Seq2[keyspace.Entry, error] {
	return func(yield func(keyspace.Entry, error) bool) {
		total := 0
		for e := range all {
			total += e.Size()
		}
		stretch := max(1, bytes/Places)
		period := max(stretch, total/Places) // from the start of one stretch to the next
		at := 0
		for e := range all {
			if at%period < stretch && !yield(e, nil) {
				return
			}
			at += e.Size()
		}
	}
}

// widen makes t a trial of values from all over the bucket, if they are known. Nothing is gained if
// the values that wait are all there is.
func (w *Writer) widen(t *trial) error {
	if w.config.Spread == nil || t.whole {
		return nil
	}
	var values [][]byte
	for e, err := range w.config.Spread(w.choice.bucket, w.config.Sample) {
		if err != nil {
			return err
		}
		if e.Kind != keyspace.KindPut || w.large(e) {
			continue
		}
		if e, err = w.decoded(e, nil); err != nil {
			return err
		}
		values = append(values, e.Value)
	}
	if wide := newTrial(values, w.config.Sample, false); wide.large() {
		*t = *wide
	}
	return nil
}
