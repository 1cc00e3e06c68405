package compaction

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// Which tables a compaction into the bottom run keeps as they are: candidates lists the inputs'
// tables, and the bottom run's other tables between them, with what would become of each by itself.
// leaveNoCrumbs has a neighbour rewritten, too, where too little is rewritten between kept tables.
// keepIsolated keeps small tables that have nothing to be joined with.

// Small returns the size below which a table of the bottom run is worth joining with others, where
// tables are to have tableBytes: each table costs a file, and room in the manifest. It is less than
// what the flush of a full memtable writes, unless that compresses to a quarter.
func Small(tableBytes int64) uint64 { return uint64(max(tableBytes, 0)) / 8 }

// fate is what a compaction does with a table.
type fate uint8

const (
	rewritten fate = iota
	small          // rewritten if that joins it with others, else kept
	kept           // moved to the bottom run, or left there, as it is
)

// candidate is a table that the compaction may keep.
type candidate struct {
	table *manifest.Table
	input bool // else it is a table of the bottom run that is not touched
	fate  fate
}

// keepTables takes the tables to keep out of the inputs, notes the young ones, and adds cuts so
// that the output does not overlap them, and no block across the end of the part is copied.
func (j *Job) keepTables() error {
	keep, err := j.tablesToKeep()
	if err != nil || len(keep) == 0 && j.End == nil {
		return err
	}
	j.Kept.Tables += len(keep)
	keeps := make(map[*manifest.Table]bool, len(keep))
	for _, t := range keep {
		keeps[t] = true
	}
	j.Inputs = slices.Clone(j.Inputs)
	for i := range j.Inputs {
		j.Inputs[i] = j.Inputs[i].Only(func(t *manifest.Table) bool { return !keeps[t] })
	}
	j.Output.Cuts, j.Bottom = slices.Clone(j.Output.Cuts), slices.Clone(j.Bottom)
	for _, t := range keep {
		j.Output.Cuts = append(j.Output.Cuts, t.Smallest)
		if i := slices.Index(j.Bottom, t.Number); i >= 0 {
			j.Bottom = slices.Delete(j.Bottom, i, i+1)
		} else {
			j.moved = append(j.moved, t)
		}
	}
	if j.End != nil {
		j.Output.Cuts = append(j.Output.Cuts, j.End)
	}
	slices.SortFunc(j.Output.Cuts, bytes.Compare)
	return nil
}

func (j *Job) tablesToKeep() (keep []*manifest.Table, err error) {
	if !j.ToBottom || len(j.Inputs) == 0 {
		return nil, nil
	}
	all, err := j.candidates()
	if err != nil {
		return nil, err
	}
	data := 0 // where the catalog, which never shares a table with data, ends
	for data < len(all) && all[data].table.IsCatalog() {
		data++
	}
	for _, part := range [][]candidate{all[:data], all[data:]} {
		if err := j.leaveNoCrumbs(part); err != nil {
			return nil, err
		}
		if err := j.keepIsolated(part); err != nil {
			return nil, err
		}
	}
	for _, c := range all {
		if c.input && c.fate == kept {
			keep = append(keep, c.table)
		}
	}
	return keep, nil
}

// candidates returns the tables of the inputs and of the bottom run in key order, as far as they
// have keys of the part, with the fate that each would have by itself.
func (j *Job) candidates() (all []candidate, err error) {
	inputs, part := make(map[*manifest.Table]bool), j.part()
	for i := range j.Inputs {
		for _, h := range j.Inputs[i].Tables {
			if inputs[h.Meta] = true; !h.Meta.Meets(part) {
				continue
			}
			fate, err := j.fateAlone(i, h.Meta)
			if err != nil {
				return nil, err
			}
			all = append(all, candidate{table: h.Meta, input: true, fate: fate})
		}
	}
	for _, t := range j.Levels.Version.Bottom.Tables {
		if !inputs[t] && t.Meets(part) {
			all = append(all, candidate{table: t, fate: kept})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return bytes.Compare(a.table.Smallest, b.table.Smallest)
	})
	return all, nil
}

// fateAlone returns the fate that a table of an input would have by itself.
func (j *Job) fateAlone(input int, t *manifest.Table) (fate, error) {
	if !j.mayKeep(input, t) {
		return rewritten, nil
	}
	overlaps, err := j.overlaps(input, t)
	switch {
	case err != nil || overlaps:
		return rewritten, err
	case t.Size < Small(j.Output.TableBytes):
		return small, nil
	}
	return kept, nil
}

// mayKeep reports whether rewriting a table of an input, by itself, would gain nothing.
//
// A young table that is not compressed like the bottom run is rewritten, because it is going to
// stay. A filter that nothing in the bottom run uses is no reason to rewrite a table, although it
// takes a byte for each key, unless the output is to be tight.
func (j *Job) mayKeep(input int, t *manifest.Table) bool {
	expired := t.StaleAt != 0 && t.StaleAt <= j.Now
	if !t.Within(j.part()) || t.Tombstones > 0 || expired || t.Compressed != j.Output.Compress ||
		j.Inputs[input].Hides(t.Smallest, t.Largest) || j.Levels.Version.MayHoldDropped(t) {
		return false
	}
	if len(t.Dictionaries) > 0 && (!j.Output.Patterns ||
		slices.ContainsFunc(t.Dictionaries, func(number uint64) bool {
			return run.Replaced(j.Output.Dictionaries, number)
		})) {
		return false
	}
	relocate := j.Output.Values.Relocate
	if relocate != nil && slices.ContainsFunc(t.Values, func(s manifest.ValueShare) bool {
		return relocate(s.File)
	}) {
		return false
	}
	young := input < j.Young.Count // it may have a filter: the manifest does not say
	return !j.Tight || !young && t.StaleAt == 0 && t.Size >= Small(j.Output.TableBytes)
}

// overlaps reports whether another input has a key within the range of t, which is in the given
// one.
func (j *Job) overlaps(input int, t *manifest.Table) (bool, error) {
	for i := range j.Inputs {
		if i == input {
			continue
		}
		key, err := j.Inputs[i].From(t.Smallest)
		if err != nil || key != nil && bytes.Compare(key, t.Largest) <= 0 {
			return true, err
		}
	}
	return false, nil
}

// leaveNoCrumbs has a neighbour rewritten, too, wherever what is rewritten between kept tables
// would make a small table. Only inputs can be.
func (j *Job) leaveNoCrumbs(all []candidate) error {
	last := -1                        // the last table that is kept
	between, some := uint64(0), false // bytes of the tables rewritten since, and whether there are any
	rewriteLast := func() {
		if last >= 0 && all[last].input {
			all[last].fate = rewritten
		}
	}
	for i := range all {
		c := &all[i]
		if c.fate == kept {
			crumb := some && between < Small(j.Output.TableBytes)
			if !some && last >= 0 && c.input {
				var err error
				if crumb, err = j.hasKeys(all[last].table.Largest, c.table.Smallest); err != nil {
					return err
				}
			}
			if !crumb || !c.input {
				if crumb {
					rewriteLast()
				}
				last, between, some = i, 0, false
				continue
			}
			c.fate = rewritten
		}
		between, some = between+c.table.Size, true
	}
	if some && between < Small(j.Output.TableBytes) {
		rewriteLast()
	}
	return nil
}

// keepIsolated keeps the small tables that cannot be joined with anything.
func (j *Job) keepIsolated(all []candidate) error {
	for i := range all {
		if all[i].fate != small {
			continue
		}
		isolated, err := j.isIsolated(all, i)
		if err != nil {
			return err
		}
		if isolated {
			all[i].fate = kept
		}
	}
	return nil
}

// isIsolated reports whether the neighbours of a candidate are kept, and no input has keys between
// it and them.
func (j *Job) isIsolated(all []candidate, i int) (bool, error) {
	first, last := i == 0, i+1 == len(all)
	if !first && all[i-1].fate != kept || !last && all[i+1].fate != kept {
		return false, nil
	}
	if !first {
		if joins, err := j.hasKeys(all[i-1].table.Largest, all[i].table.Smallest); err != nil || joins {
			return false, err
		}
	}
	var end []byte
	if !last {
		end = all[i+1].table.Smallest
	}
	joins, err := j.hasKeys(all[i].table.Largest, end)
	return !joins, err
}

// hasKeys reports whether an input has keys above one and below another; a nil end is no bound.
func (j *Job) hasKeys(above, end []byte) (bool, error) {
	first := append(bytes.Clone(above), 0)
	for i := range j.Inputs {
		key, err := j.Inputs[i].From(first)
		if err != nil || key != nil && (end == nil || bytes.Compare(key, end) < 0) {
			return true, err
		}
	}
	return false, nil
}
