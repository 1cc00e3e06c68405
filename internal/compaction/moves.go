package compaction

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Small returns the size below which a table is too small to stay in the bottom run for long, where
// tables are to have tableBytes: each costs a file, and a place in the manifest, so that it is
// rather written anew with its neighbours.
func Small(tableBytes int64) uint64 { return uint64(max(tableBytes, 0)) / 4 }

// piece is a table that takes part in a compaction into the bottom run, or lies between those that
// do.
type piece struct {
	table *manifest.Table
	input bool // else it is a table of the bottom run that the compaction leaves alone
	move  bool // it becomes part of the bottom run, or stays there, without being rewritten
	small bool // it is rewritten only in order to be joined with others
}

// move takes out of the inputs what need not be written anew, keeps the output out of its way, and
// makes it part of the edit.
func (j *Job) move(edit *manifest.Edit) error {
	moved, err := j.moves()
	if err != nil || len(moved) == 0 {
		return err
	}
	j.Kept.Tables += len(moved)
	j.Inputs = slices.Clone(j.Inputs)
	for i := range j.Inputs {
		j.Inputs[i] = j.Inputs[i].Only(func(t *manifest.Table) bool { return !moved[t] })
	}
	cuts, rewritten := slices.Clone(j.Output.Cuts), slices.Clone(j.Bottom)
	for t := range moved {
		cuts = append(cuts, t.Smallest)
		if at := slices.Index(rewritten, t.Number); at >= 0 {
			rewritten = slices.Delete(rewritten, at, at+1)
		} else {
			edit.AddBottom = append(edit.AddBottom, t)
		}
	}
	slices.SortFunc(cuts, bytes.Compare)
	j.Output.Cuts, j.Bottom = cuts, rewritten
	return nil
}

// moves returns the tables of the inputs that become part of the bottom run as they are, or stay in
// it: no other input has a key among theirs, and writing them anew would gain nothing.
//
// By default young tables are compressed like those of the bottom run only if they were flushed
// into a gap between all keys; see package flush. Others are rewritten, as they are going to stay:
// of values that compress to a quarter, four times as much would lie in the bottom run for good. A
// filter that a table brings along is no reason: nobody asks it there, but it is a byte a key.
func (j *Job) moves() (map[*manifest.Table]bool, error) {
	if !j.ToBottom || len(j.Inputs) == 0 {
		return nil, nil
	}
	pieces, err := j.pieces()
	if err != nil {
		return nil, err
	}
	catalog := 0 // of the pieces are catalog entries, which never share a table with data
	for catalog < len(pieces) && !keyspace.IsData(pieces[catalog].table.Smallest) {
		catalog++
	}
	for _, part := range [][]piece{pieces[:catalog], pieces[catalog:]} {
		if err := j.leaveNoCrumbs(part); err != nil {
			return nil, err
		}
		if err := j.spareTheLonely(part); err != nil {
			return nil, err
		}
	}
	moved := make(map[*manifest.Table]bool)
	for _, p := range pieces {
		if p.input && p.move {
			moved[p.table] = true
		}
	}
	return moved, nil
}

// pieces returns the tables of the inputs and of the bottom run in the order of their first keys,
// with move as far as it depends on each table and those that it overlaps.
func (j *Job) pieces() ([]piece, error) {
	var pieces []piece
	in := make(map[*manifest.Table]bool)
	for i := range j.Inputs {
		for _, h := range j.Inputs[i].Tables {
			p := piece{table: h.Meta, input: true}
			if j.isAsWanted(&j.Inputs[i], p.table) && !(j.Tight && j.mayShrink(i, p.table)) {
				met, err := j.meets(i, p.table)
				if err != nil {
					return nil, err
				}
				p.small = !met && p.table.Size < j.small()
				p.move = !met && !p.small
			}
			in[p.table] = true
			pieces = append(pieces, p)
		}
	}
	for _, t := range j.Levels.Version.Bottom.Tables {
		if !in[t] {
			pieces = append(pieces, piece{table: t, move: true})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int {
		return bytes.Compare(a.table.Smallest, b.table.Smallest)
	})
	return pieces, nil
}

// mayShrink reports whether a table, which is as wanted and in input at, might be smaller if it was
// written anew. A young one may have a filter, which is not known of it.
func (j *Job) mayShrink(at int, t *manifest.Table) bool {
	return at < j.Young.Count || t.StaleAt != 0 || t.Size < j.small()
}

// isAsWanted reports whether writing a table of a run anew, by itself, would gain nothing.
func (j *Job) isAsWanted(r *superversion.Run, t *manifest.Table) bool {
	expired := t.StaleAt != 0 && t.StaleAt <= j.Now
	if t.Tombstones > 0 || expired || t.Compressed != j.Output.Compress ||
		r.Hides(t.Smallest, t.Largest) || j.Levels.Version.MayHoldDropped(t) ||
		!j.isEncodedAsWanted(t) {
		return false
	}
	relocate := j.Output.Values.Relocate
	return relocate == nil || !slices.ContainsFunc(t.Values, func(s manifest.ValueShare) bool {
		return relocate(s.File)
	})
}

// isEncodedAsWanted reports whether values may stay encoded as those of t are.
func (j *Job) isEncodedAsWanted(t *manifest.Table) bool {
	return len(t.Dictionaries) == 0 || j.Output.Patterns &&
		!slices.ContainsFunc(t.Dictionaries, func(number uint64) bool {
			return run.Replaced(j.Output.Dictionaries, number)
		})
}

// small returns the size below which tables are not moved.
func (j *Job) small() uint64 { return Small(j.Output.TableBytes) }

// meets reports whether another input has a key among those of t, which is in input at.
func (j *Job) meets(at int, t *manifest.Table) (bool, error) {
	for i := range j.Inputs {
		if i == at {
			continue
		}
		key, err := j.Inputs[i].From(t.Smallest)
		if err != nil || key != nil && bytes.Compare(key, t.Largest) <= 0 {
			return true, err
		}
	}
	return false, nil
}

// leaveNoCrumbs has a neighbour rewritten, too, wherever what is rewritten between tables that are
// not is small.
func (j *Job) leaveNoCrumbs(pieces []piece) error {
	before := -1 // the last piece that is not rewritten
	bytes, some := uint64(0), false
	for i := range pieces {
		p := &pieces[i]
		crumb := some && bytes < j.small()
		if !some && before >= 0 && p.move && p.input {
			var err error
			if crumb, err = j.between(pieces[before].table.Largest, p.table.Smallest); err != nil {
				return err
			}
		}
		if p.move && !(crumb && p.input) {
			if crumb && before >= 0 && pieces[before].input {
				pieces[before].move = false
			}
			before, bytes, some = i, 0, false
			continue
		}
		p.move = false
		bytes, some = bytes+p.table.Size, true
	}
	if some && bytes < j.small() && before >= 0 && pieces[before].input {
		pieces[before].move = false
	}
	return nil
}

// spareTheLonely has a small table left as it is if there is nothing to join it with: its
// neighbours are not rewritten, and no input has keys between it and them.
func (j *Job) spareTheLonely(pieces []piece) error {
	for i := range pieces {
		p := &pieces[i]
		if !p.small || i > 0 && !pieces[i-1].move || i+1 < len(pieces) && !pieces[i+1].move {
			continue
		}
		var before, behind bool
		var err error
		if i > 0 {
			before, err = j.between(pieces[i-1].table.Largest, p.table.Smallest)
		}
		if err == nil {
			var end []byte
			if i+1 < len(pieces) {
				end = pieces[i+1].table.Smallest
			}
			behind, err = j.between(p.table.Largest, end)
		}
		if err != nil {
			return err
		}
		p.move = !before && !behind
	}
	return nil
}

// between reports whether an input has keys above one and below another; a nil end is no bound.
func (j *Job) between(key, end []byte) (bool, error) {
	first := append(bytes.Clone(key), 0)
	for i := range j.Inputs {
		key, err := j.Inputs[i].From(first)
		if err != nil || key != nil && (end == nil || bytes.Compare(key, end) < 0) {
			return true, err
		}
	}
	return false, nil
}
