package pick

import (
	"bytes"
	"iter"
	"slices"
	"sort"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Plan is a compaction to do: what it reads, and where its output goes.
type Plan struct {
	Why      string // the name of the reason, for logs
	Idle     bool   // it only tidies up, and can wait until nobody commits
	Young    manifest.YoungRuns
	Bottom   []uint64 // numbers of tables of the bottom run, in the order of their keys
	ToBottom bool     // the output is part of the bottom run, else it is one young run
	Unread   bool     // the bottom tables hold nothing that counts, and only go
	Tight    bool     // as in compaction.Job
	Relocate []uint64 // numbers of the value files whose values are rewritten, ascending
	// MostValues ends that once so many bytes are rewritten, in the order of their keys; 0: all are.
	MostValues uint64
	OnlyTable  uint64 // the one table of the young run that is rewritten; 0 for the whole run

	Front bool   // the newest of the young runs is the front of what the others become
	End   []byte // if not nil, only keys below it are read, and what is made of them is a front
}

// IntoBottom returns the compaction of all young runs into the bottom run.
func IntoBottom(v *manifest.Version) Plan {
	return Plan{
		Young: manifest.YoungRuns{Count: len(v.Young)}, ToBottom: true, Bottom: met(v, v.Young),
	}
}

// met returns the numbers of the bottom tables within which some young runs may have or delete a
// key.
func met(v *manifest.Version, young []manifest.Run) (numbers []uint64) {
	for _, t := range v.Bottom.Tables {
		if slices.ContainsFunc(young, func(r manifest.Run) bool { return meets(r, t) }) {
			numbers = append(numbers, t.Number)
		}
	}
	return numbers
}

// rewrite returns the compaction of tables of the bottom run, which are in the order of their keys,
// by themselves.
func rewrite(tables ...*manifest.Table) Plan {
	next := Plan{ToBottom: true}
	for _, t := range tables {
		next.Bottom = append(next.Bottom, t.Number)
	}
	return next
}

// tables yields the tables that the plan reads, and of the young ones the index of their run, which
// is len(v.Young) for the bottom run.
func (p Plan) tables(v *manifest.Version) iter.Seq2[int, *manifest.Table] {
	return func(yield func(int, *manifest.Table) bool) {
		runs, at, err := p.Young.Of(v)
		if err != nil {
			return
		}
		if p.Front {
			runs, at = runs[1:], at+1
		}
		for i, r := range runs {
			for _, t := range p.belowEnd(r.Tables) {
				if (p.OnlyTable == 0 || p.OnlyTable == t.Number) && !yield(at+i, t) {
					return
				}
			}
		}
		rest := p.Bottom
		for _, t := range p.belowEnd(v.Bottom.Tables) {
			if len(rest) == 0 || p.Unread {
				return
			}
			if t.Number != rest[0] {
				continue
			}
			if rest = rest[1:]; !yield(len(v.Young), t) {
				return
			}
		}
	}
}

// belowEnd returns those of a run's tables of which the plan reads something.
func (p Plan) belowEnd(tables []*manifest.Table) []*manifest.Table {
	if p.End == nil {
		return tables
	}
	n := sort.Search(len(tables), func(i int) bool {
		return bytes.Compare(tables[i].Smallest, p.End) >= 0
	})
	return tables[:n]
}

// Reads returns the numbers of the tables that the plan reads, those of the youngest run first.
func (p Plan) Reads(v *manifest.Version) (numbers []uint64) {
	for _, t := range p.tables(v) {
		numbers = append(numbers, t.Number)
	}
	return numbers
}

// Bytes returns how many bytes of tables the plan reads.
func (p Plan) Bytes(v *manifest.Version) (n uint64) {
	for _, t := range p.tables(v) {
		n += t.Size
	}
	return n
}

// RawBytes returns how many bytes of keys and values the plan reads: those in the tables, before
// they were compressed, and the deferred ones if it may compress them: the output is compressed if
// some of the input is.
func (p Plan) RawBytes(v *manifest.Version) uint64 {
	raw, deferred, compresses := uint64(0), uint64(0), p.ToBottom || p.OnlyTable > 0
	for _, t := range p.tables(v) {
		raw, deferred = raw+t.RawBytes, deferred+deferredIn(v, t)
		compresses = compresses || t.Compressed
	}
	if !compresses {
		return raw
	}
	return raw + deferred
}

// cost returns about how many bytes the plan writes: young tables that a compaction into the bottom
// run only moves there cost nothing.
func (p Plan) cost(v *manifest.Version) (n uint64) {
	for run, t := range p.tables(v) {
		if !p.ToBottom || run == len(v.Young) || !isApart(v, run, t) {
			n += t.Size
		}
	}
	return n
}

// isApart reports whether a table of a young run likely lies in a gap between all keys, and is
// encoded as those of the bottom run are: a flush compresses young tables that lie in a gap, and no
// newer table has come near since. A bottom table around the gap is cut in two there.
func isApart(v *manifest.Version, young int, t *manifest.Table) bool {
	if !t.Compressed || t.Tombstones > 0 {
		return false
	}
	for i, r := range v.Young {
		if i != young && meets(r, t) {
			return false
		}
	}
	return true
}

// meets reports whether a young run may have or delete a key within t.
func meets(r manifest.Run, t *manifest.Table) bool {
	i, _ := slices.BinarySearchFunc(r.Tables, t.Smallest, func(y *manifest.Table, key []byte) int {
		return bytes.Compare(y.Largest, key)
	})
	return i < len(r.Tables) && bytes.Compare(r.Tables[i].Smallest, t.Largest) <= 0 ||
		r.Deleted.Meets(t.Smallest, t.Largest)
}
