package superversion

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/table"
)

// From returns the first key of the run that is not below key, whatever is said of it, or nil. It
// may not be modified.
func (r *Run) From(key []byte) ([]byte, error) {
	c := runCursor{run: r, scope: &table.Scope{Read: table.ReadKeys}}
	if !c.Seek(key) {
		return nil, c.err
	}
	return c.Key(), nil
}

// Gap returns the end of the gap between keys in which key lies: no run has or deletes anything
// from key on until there. A nil end is no bound; ok is false if key does not lie in a gap.
func (l *Levels) Gap(key []byte) (end []byte, ok bool, err error) {
	runs := append(slices.Clone(l.Young), l.Bottom)
	for i := range runs {
		next, err := runs[i].From(key)
		if err != nil {
			return nil, false, err
		}
		at, inside := runs[i].Deleted.Find(key)
		if inside {
			return nil, false, nil
		}
		if at < len(runs[i].Deleted) {
			end = lower(end, runs[i].Deleted[at].Start)
		}
		end = lower(end, next)
	}
	return end, end == nil || !bytes.Equal(end, key), nil
}

// lower returns the lower one of two keys; nil is above all.
func lower(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}
