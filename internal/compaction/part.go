package compaction

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// A compaction of young runs into the bottom run may be done in parts, in the order of the keys:
// what is done is the front of the bottom run ([manifest.Front]), above the runs that it is made
// of. Each part but the last makes the front longer, and removes the tables of which it leaves
// nothing. The last part makes front and output the bottom run.

// span is the keys of parts of a compaction.
type span struct{ keyspace.Span }

// has reports whether all of a table is in the span.
func (s span) has(t *manifest.Table) bool { return s.Contains(t.Smallest) && s.Contains(t.Largest) }

// meets reports whether a table may have a key in the span.
func (s span) meets(t *manifest.Table) bool {
	return bytes.Compare(s.Start, t.Largest) <= 0 &&
		(s.End == nil || bytes.Compare(t.Smallest, s.End) < 0)
}

// part returns what the job reads: from where earlier parts have ended, up to its own end.
func (j *Job) part() span { return span{keyspace.Span{Start: j.Done.End, End: j.End}} }

// savesPart reports whether the job may leave a part if it is told to stop.
func (j *Job) savesPart() bool { return j.Saves && j.ToBottom && j.Young.Count > 0 }

// save returns what a writer has completed, and the end of the part that it makes up.
func save(w *run.Writer) (output run.Output, end []byte, err error) {
	if output, err = w.Stop(); err != nil {
		return output, nil, err
	}
	if len(output.Tables) == 0 {
		return output, nil, ErrCancelled
	}
	return output, append(bytes.Clone(output.Tables[len(output.Tables)-1].Largest), 0), nil
}

// editPart completes the edit of a part that wrote tables and ends before end; nil if it is the
// last.
func (j *Job) editPart(edit *manifest.Edit, tables []*manifest.Table, end []byte) error {
	runs, _, err := j.Young.Of(j.Levels.Version)
	if err != nil {
		return err
	}
	done := span{keyspace.Span{Start: j.Done.Start, End: end}}
	if j.Done.End != nil {
		tables, runs = slices.Concat(tables, runs[0].Tables), runs[1:]
	} else {
		done.Start = manifest.FirstKey(append(slices.Clone(runs), j.Levels.Version.Bottom))
	}
	if end == nil {
		edit.Remove, edit.AddBottom = j.Bottom, slices.Concat(tables, j.moved)
		return nil
	}
	for _, t := range j.moved {
		if done.has(t) {
			tables = append(tables, t)
		}
	}
	kept, err := j.removeDone(edit, done)
	if err != nil {
		return err
	}
	edit.AddYoung = []manifest.Run{manifest.NewFront(slices.Concat(tables, kept), done.Span)}
	for _, r := range runs {
		rest := manifest.Run{Tables: slices.DeleteFunc(slices.Clone(r.Tables), done.has)}
		for _, d := range r.Deleted {
			if d.End == nil || bytes.Compare(d.End, end) > 0 {
				rest.Deleted = append(rest.Deleted, d)
			}
		}
		if len(rest.Tables)+len(rest.Deleted) > 0 {
			edit.AddYoung = append(edit.AddYoung, rest)
		}
	}
	return nil
}

// removeDone takes the tables out of the bottom run that lie where everything is done, and returns
// those that were kept.
func (j *Job) removeDone(edit *manifest.Edit, done span) (kept []*manifest.Table, err error) {
	now := span{keyspace.Span{Start: j.Done.End, End: done.End}}
	for _, t := range j.Levels.Version.Bottom.Tables {
		rewritten := slices.Contains(j.Bottom, t.Number)
		if done.has(t) {
			edit.Remove = append(edit.Remove, t.Number)
		}
		switch {
		case rewritten || !done.meets(t):
		case done.has(t) && now.has(t):
			kept = append(kept, t)
		default: // a part of it would be hidden
			return nil, fmt.Errorf("compaction in parts does not read table %06d", t.Number)
		}
	}
	return kept, nil
}
