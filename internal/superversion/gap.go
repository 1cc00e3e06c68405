package superversion

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
)

// From returns the first key of the run that is not below key, whatever its entry says, or nil. It
// must not be modified.
func (r *Run) From(key []byte) ([]byte, error) {
	c := runCursor{run: r, scope: &table.Scope{Read: table.ReadKeys}}
	if !c.Seek(key) {
		return nil, c.err
	}
	return c.Key(), nil
}

// Gap returns the end of the gap in which key lies: no run has or deletes any key in [key, end). A
// nil end is no bound; ok is false if key does not lie in a gap.
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

// Around returns the tables that [Levels.Gap] reads for key.
func (l *Levels) Around(key []byte) (tables []*manifest.Table) {
	for _, r := range append(slices.Clone(l.Young), l.Bottom) {
		if i := r.search(key); i < len(r.Tables) {
			tables = append(tables, r.Tables[i].Meta)
		}
	}
	return tables
}

// lower returns the lower of two keys; nil is above all keys.
func lower(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}
