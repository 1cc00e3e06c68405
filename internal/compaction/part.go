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

// part returns what the job reads: from where earlier parts have ended, up to its own end.
func (j *Job) part() keyspace.Span { return keyspace.Span{Start: j.Done.End, End: j.End} }

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
	done := keyspace.Span{Start: j.Done.Start, End: end}
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
		if t.Within(done) {
			tables = append(tables, t)
		}
	}
	kept, err := j.removeDone(edit, done)
	if err != nil {
		return err
	}
	edit.AddYoung = []manifest.Run{manifest.NewFront(slices.Concat(tables, kept), done)}
	for _, r := range runs {
		if rest := beyond(r, done); len(rest.Tables)+len(rest.Deleted) > 0 {
			edit.AddYoung = append(edit.AddYoung, rest)
		}
	}
	return nil
}

// beyond returns the tables of a run that are not within a span, and what it deletes above that.
func beyond(r manifest.Run, done keyspace.Span) (rest manifest.Run) {
	for _, t := range r.Tables {
		if !t.Within(done) {
			rest.Tables = append(rest.Tables, t)
		}
	}
	for _, d := range r.Deleted {
		if d.End == nil || bytes.Compare(d.End, done.End) > 0 {
			rest.Deleted = append(rest.Deleted, d)
		}
	}
	return rest
}

// removeDone takes the tables out of the bottom run that lie where everything is done, and returns
// those that were kept.
func (j *Job) removeDone(
	edit *manifest.Edit, done keyspace.Span,
) (kept []*manifest.Table, err error) {
	now := keyspace.Span{Start: j.Done.End, End: done.End}
	for _, t := range j.Levels.Version.Bottom.Tables {
		rewritten := slices.Contains(j.Bottom, t.Number)
		if t.Within(done) {
			edit.Remove = append(edit.Remove, t.Number)
		}
		switch {
		case rewritten || !t.Meets(done):
		case t.Within(done) && t.Within(now):
			kept = append(kept, t)
		default: // a part of it would be hidden
			return nil, fmt.Errorf("compaction in parts does not read table %06d", t.Number)
		}
	}
	return kept, nil
}
