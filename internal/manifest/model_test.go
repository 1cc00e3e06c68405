package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// model is what a version should be, in the simplest form.
type model struct {
	young   []Run // newest first
	bottom  []*Table
	files   map[uint64]ValueFile // all that tables may point into; without sums
	dropped map[uint64]uint64    // epochs by id
}

// change is an edit and the runs that it should remove.
type change struct {
	edit    *Edit
	removed []Run
}

// TestApply_agreesWithAPlainModel applies random edits, with flushes between making and applying an
// edit, and compares the result with the model.
func TestApply_agreesWithAPlainModel(t *testing.T) {
	rng := newRand(t)
	for range 20 {
		v, g := &Version{}, &generator{rng: rng, next: 1}
		m := model{files: map[uint64]ValueFile{}, dropped: map[uint64]uint64{}}
		for range 60 {
			c := g.change(v)
			for range rng.IntN(3) {
				v = m.apply(t, v, change{edit: g.flush(v)})
			}
			v = m.apply(t, v, c)
		}
	}
}

// apply applies the change to v and to the model, compares them, and returns the version.
func (m *model) apply(t *testing.T, v *Version, c change) *Version {
	t.Helper()
	next := applied(t, v, c.edit)
	decoded, err := decodeEdit(appendEdit(nil, c.edit))
	check(t, err)
	if got := text(applied(t, v, decoded)); got != text(next) {
		t.Fatalf("the decoded edit leads to %s, want %s", got, text(next))
	}

	at := 0
	if len(c.removed) > 0 {
		at = slices.IndexFunc(m.young, func(r Run) bool { return same(r, c.removed[0]) })
	}
	for range c.removed {
		m.young = slices.Delete(m.young, at, at+1)
	}
	m.young = slices.Insert(m.young, at, c.edit.AddYoung...)
	for _, number := range c.edit.Remove {
		m.bottom = slices.DeleteFunc(m.bottom, func(t *Table) bool { return t.Number == number })
	}
	m.bottom = append(m.bottom, c.edit.AddBottom...)
	for _, f := range c.edit.AddValues {
		m.files[f.Number] = f
	}
	for _, id := range c.edit.Drop {
		if m.dropped[id] == 0 {
			m.dropped[id] = next.DropEpoch
		}
	}
	m.compare(t, next)
	return next
}

// same reports whether two runs have the same tables and deletions, by identity.
func same(a, b Run) bool {
	return slices.Equal(a.Tables, b.Tables) &&
		slices.EqualFunc(a.Deleted, b.Deleted, func(a, b keyspace.Span) bool {
			return string(a.Start) == string(b.Start) && string(a.End) == string(b.End)
		})
}

func (m *model) compare(t *testing.T, v *Version) {
	t.Helper()
	check(t, v.Verify())
	if !slices.EqualFunc(v.Young, m.young, same) {
		t.Fatalf("young runs are %s, want %s", text(v), text(&Version{Young: m.young}))
	}
	byNumber := func(a, b *Table) int { return cmp.Compare(a.Number, b.Number) }
	slices.SortFunc(m.bottom, byNumber)
	if !slices.Equal(slices.SortedFunc(slices.Values(v.Bottom.Tables), byNumber), m.bottom) {
		t.Fatalf("bottom run is %v", numbers(v.Bottom))
	}
	m.compareValues(t, v)
	m.compareDictionaries(t, v)
	m.compareDrops(t, v)
	decoded, err := decodeVersion(appendVersion(nil, v))
	if err != nil || text(decoded) != text(v) {
		t.Fatalf("%s is decoded as %+v: %v", text(v), decoded, err)
	}
}

// compareValues forgets files that no table points into and compares the others.
func (m *model) compareValues(t *testing.T, v *Version) {
	t.Helper()
	live := map[uint64]ValueFile{}
	for _, r := range append(m.young, Run{Tables: m.bottom}) {
		for _, table := range r.Tables {
			for _, s := range table.Values {
				f := m.files[s.File]
				f.Live += live[s.File].Live + s.Bytes
				f.Count += live[s.File].Count + s.Count
				live[s.File] = f
			}
		}
	}
	maps.DeleteFunc(m.files, func(n uint64, _ ValueFile) bool { return live[n].Count == 0 })
	var want []ValueFile
	for _, number := range slices.Sorted(maps.Keys(live)) {
		want = append(want, live[number])
	}
	if !slices.Equal(v.ValueFiles, want) {
		t.Fatalf("value files are %+v, want %+v", v.ValueFiles, want)
	}
}

// compareDictionaries checks that v has exactly the dictionaries that tables refer to.
func (m *model) compareDictionaries(t *testing.T, v *Version) {
	t.Helper()
	used := map[uint64]bool{}
	for _, r := range append(m.young, Run{Tables: m.bottom}) {
		for _, table := range r.Tables {
			for _, number := range table.Dictionaries {
				used[number] = true
			}
		}
	}
	var has []uint64
	for _, d := range v.Dictionaries {
		has = append(has, d.Number)
	}
	if want := slices.Sorted(maps.Keys(used)); !slices.Equal(has, want) {
		t.Fatalf("the dictionaries are %v, want %v", has, want)
	}
}

func (m *model) compareDrops(t *testing.T, v *Version) {
	t.Helper()
	for id, epoch := range m.dropped {
		single := Drop{id, id, epoch}
		if v.mayHold(single) && !v.IsDropped(id) {
			t.Fatalf("bucket %d is forgotten, but a table may hold it: %s", id, text(v))
		}
	}
	for _, d := range v.Dropped {
		if !v.mayHold(d) {
			t.Fatalf("%v is kept for nothing: %s", d, text(v))
		}
		for id := d.First; id <= d.Last; id++ {
			if m.dropped[id] == 0 {
				t.Fatalf("bucket %d was never dropped", id)
			}
		}
	}
}

// generator makes random edits.
type generator struct {
	rng  *rand.Rand
	next uint64 // the next file number
}

// change returns an edit that fits v, even with flushes in between.
func (g *generator) change(v *Version) change {
	e := &Edit{}
	c := change{edit: e}
	switch g.rng.IntN(5) {
	case 0:
		e = g.flush(v)
		c.edit = e
	case 1: // compact everything
		e.RemoveYoung.Count = len(v.Young)
		e.Remove = numbers(v.Bottom)
		e.AddBottom = g.tables(v, e, g.rng.IntN(5))
		g.rng.Shuffle(len(e.AddBottom), func(i, j int) {
			e.AddBottom[i], e.AddBottom[j] = e.AddBottom[j], e.AddBottom[i]
		})
	case 2: // compact some young runs
		e.RemoveYoung.Older = g.rng.IntN(len(v.Young) + 1)
		e.RemoveYoung.Count = g.rng.IntN(len(v.Young) - e.RemoveYoung.Older + 1)
		if e.RemoveYoung.Count > 0 {
			e.AddYoung = g.runs(v, e, g.rng.IntN(3))
		}
	case 3: // rewrite a part of the bottom run
		for _, t := range v.Bottom.Tables {
			if g.rng.IntN(2) > 0 {
				e.Remove = append(e.Remove, t.Number)
				again := *t
				again.Number, again.Values = g.number(), g.shares(v, e)
				e.AddBottom = append(e.AddBottom, &again)
			}
		}
	case 4:
		for range g.rng.IntN(4) {
			e.Drop = append(e.Drop, uint64(g.rng.IntN(60)))
		}
	}
	end := len(v.Young) - e.RemoveYoung.Older
	c.removed = slices.Clone(v.Young[end-e.RemoveYoung.Count : end])
	return c
}

// flush returns an edit that adds a run or two, or nothing.
func (g *generator) flush(v *Version) *Edit {
	e := &Edit{}
	e.AddYoung = g.runs(v, e, g.rng.IntN(3))
	return e
}

// runs returns n different, non-empty runs for the edit e of v.
func (g *generator) runs(v *Version, e *Edit, n int) (runs []Run) {
	for range n {
		r := Run{Tables: g.tables(v, e, g.rng.IntN(4))}
		for range g.rng.IntN(3) {
			unique := fmt.Appendf(nil, "%06d", g.number())
			start := keyspace.AppendPrefix(nil, uint64(g.rng.IntN(60)))
			s := keyspace.Span{Start: append(start, unique...)}
			if g.rng.IntN(4) > 0 {
				s.End = keyspace.AppendPrefix(nil, uint64(g.rng.IntN(60)))
			}
			r.Deleted = r.Deleted.With(s)
		}
		if len(r.Tables)+len(r.Deleted) == 0 {
			r.Tables = g.tables(v, e, 1)
		}
		runs = append(runs, r)
	}
	return runs
}

// tables returns n tables for the edit e of v.
func (g *generator) tables(v *Version, e *Edit, n int) (tables []*Table) {
	for i := range n {
		id := uint64(i*10 + g.rng.IntN(5))
		tables = append(tables, &Table{
			Number:    g.number(),
			DropEpoch: v.DropEpoch,
			Smallest:  append(keyspace.AppendPrefix(nil, id), 'a'),
			Largest:   append(keyspace.AppendPrefix(nil, id+uint64(g.rng.IntN(5))), 'z'),
			StaleAt:   uint64(g.rng.IntN(2) * 1000),
			Values:    g.shares(v, e),

			Dictionaries: g.dictionaries(v, e),
		})
	}
	return tables
}

// shares returns the value shares of a new table of the edit e of v: some in files that it shares
// with other tables, and perhaps some in a new file, which the edit adds.
func (g *generator) shares(v *Version, e *Edit) (shares []ValueShare) {
	files := slices.Concat(v.ValueFiles, e.AddValues)
	if g.rng.IntN(3) == 0 {
		f := ValueFile{Number: g.number(), Size: 1 << 20, Log: g.rng.IntN(2) == 0}
		e.AddValues = append(e.AddValues, f)
		files = append(files, f)
	}
	for _, f := range files {
		if g.rng.IntN(3) == 0 {
			s := ValueShare{f.Number, 1 + uint64(g.rng.IntN(9)), uint64(g.rng.IntN(1000))}
			shares = append(shares, s)
		}
	}
	return shares
}

// dictionaries returns the dictionaries of a new table of the edit e of v: some existing ones,
// which the edit may add again, and perhaps a new one.
func (g *generator) dictionaries(v *Version, e *Edit) (numbers []uint64) {
	for _, d := range slices.Concat(v.Dictionaries, e.AddDictionaries) {
		if g.rng.IntN(3) == 0 && !slices.Contains(numbers, d.Number) {
			numbers = append(numbers, d.Number)
			if g.rng.IntN(2) == 0 {
				e.AddDictionaries = append(e.AddDictionaries, d)
			}
		}
	}
	if g.rng.IntN(5) == 0 {
		d := Dictionary{Number: g.number(), Fit: uint64(g.rng.IntN(60)), Data: []byte{1, 2}}
		e.AddDictionaries = append(e.AddDictionaries, d)
		numbers = append(numbers, d.Number)
	}
	slices.Sort(numbers)
	return numbers
}

func (g *generator) number() uint64 {
	g.next++
	return g.next - 1
}
