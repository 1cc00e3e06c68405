package compaction

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pattern"
	"github.com/stoatdb/stoat/internal/run"
)

// shape says what the runs of a random store are like.
type shape struct {
	buckets    int // how many there are
	perRun     int // at most so many writes
	span       int // of a run's keys, of 1000; small ones leave gaps
	tombstones int // one of so many writes is one; 0 for none
	expiring   int // one of so many writes expires; 0 for none
	deletions  int // one of so many runs deletes ranges; 0 for none
	valueBytes int // at most
	separate   int // values of so many bytes go to files; 0 for none
}

func shapes() map[string]shape {
	return map[string]shape{
		"mixed":           {3, 80, 300, 4, 4, 2, 40, 30},
		"dense":           {1, 200, 200, 4, 8, 3, 10, 0},
		"apart":           {2, 40, 20, 5, 3, 4, 20, 10},
		"many tombstones": {2, 120, 250, 2, 0, 0, 20, 0},
		"only puts":       {4, 80, 500, 0, 0, 0, 30, 0},
		"large values":    {2, 30, 100, 4, 4, 3, 900, 200},
		"few":             {3, 3, 1000, 3, 3, 2, 10, 5},
		"expiring":        {2, 80, 300, 5, 1, 3, 80, 40},
		"deletions":       {3, 10, 400, 5, 5, 1, 60, 40},
	}
}

// writes returns a random run.
func (sh shape) writes(rng *rand.Rand) writes {
	w := writes{}
	low := rng.IntN(1001 - sh.span)
	for range 1 + rng.IntN(sh.perRun) {
		bucket := uint64(rng.IntN(sh.buckets))
		key := dataKey(bucket, fmt.Sprintf("%04d", low+rng.IntN(sh.span)))
		switch rng.IntN(12) {
		case 0:
			key = fmt.Sprintf("%s%d", keyspace.AppendCatalog(nil, bucket), rng.IntN(50))
		case 1:
			key = string(keyspace.AppendSequence(nil, bucket))
		}
		c := cell{value: fmt.Appendf(nil, "%0*x", 1+rng.IntN(sh.valueBytes), rng.Uint64())}
		if sh.expiring > 0 && rng.IntN(sh.expiring) == 0 {
			c.until = now - 2 + rng.Uint64N(5)
		}
		if sh.tombstones > 0 && rng.IntN(sh.tombstones) == 0 {
			c = cell{}
		}
		w[key] = c
	}
	return w
}

// spans returns the ranges that a random run deletes.
func (sh shape) spans(rng *rand.Rand) (deleted []keyspace.Span) {
	if sh.deletions == 0 || rng.IntN(sh.deletions) > 0 {
		return nil
	}
	n, width := 1+rng.IntN(3), 2*sh.span
	if rng.IntN(3) == 0 { // many small ones
		n, width = 60, 4
	}
	for range n {
		bucket, low := uint64(rng.IntN(sh.buckets)), rng.IntN(1000)
		s := keyspace.Span{
			Start: []byte(dataKey(bucket, fmt.Sprintf("%04d", low))),
			End:   []byte(dataKey(bucket, fmt.Sprintf("%04d", low+1+rng.IntN(width)))),
		}
		if n < 4 && rng.IntN(8) == 0 {
			s.End = keyspace.Successor([]byte(dataKey(bucket, "")))
		}
		deleted = append(deleted, s)
	}
	return deleted
}

// model is a store and what it should say.
type model struct {
	*store
	what    string // for messages
	want    writes // some of which may have expired
	dropped map[uint64]bool
	seen    *tally
}

// tally counts what the compactions of a test did.
type tally struct {
	toBottom, toYoung, relocated, deletions, tombstones, cuts, moved int
	kept                                                             Kept
	dictionaries                                                     int // that outputs refer to
}

// fill adds a random run, the first time to the bottom run.
func (m *model) fill(rng *rand.Rand, sh shape) {
	m.t.Helper()
	w, deleted := sh.writes(rng), sh.spans(rng)
	maps.DeleteFunc(w, func(key string, _ cell) bool { return m.isDropped(key) })
	if len(w) == 0 {
		return
	}
	if len(m.version.Young)+len(m.version.Bottom.Tables) == 0 {
		if w = w.visible(); len(w) > 0 {
			m.bottom(w)
		}
	} else {
		if rng.IntN(10) == 0 && len(deleted) > 0 {
			w = writes{}
		}
		m.young(w, deleted...)
	}
	m.want = w.over(m.want.without(deleted...))
}

func (m *model) isDropped(key string) bool {
	id, ok := keyspace.BucketOf([]byte(key))
	return ok && m.dropped[id]
}

// drop drops a random bucket, but not the root bucket, in one case of ten.
func (m *model) drop(rng *rand.Rand, sh shape) {
	m.t.Helper()
	id := uint64(rng.IntN(sh.buckets))
	if id == keyspace.RootID || m.dropped[id] || rng.IntN(10) > 0 {
		return
	}
	m.apply(dropping(id))
	m.dropped[id] = true
	maps.DeleteFunc(m.want, func(key string, _ cell) bool { return m.isDropped(key) })
}

// dictionaries returns the version's dictionaries, and new ones for some buckets.
func (m *model) dictionaries(rng *rand.Rand) []*block.Dictionary {
	all := slices.Clone(m.levels().Dictionaries())
	for bucket := range uint64(rng.IntN(4)) {
		var samples [][]byte
		for range 200 {
			samples = append(samples, fmt.Appendf(nil, "%0*x", 1+rng.IntN(100), rng.Uint64()))
		}
		m.numbers++
		all = append(all, block.NewDictionary(m.numbers, bucket, 0,
			pattern.Train(samples).Append(nil)))
	}
	return all
}

// compact does a random compaction and checks its outcome.
func (m *model) compact(rng *rand.Rand) {
	m.t.Helper()
	j, ok := m.pick(rng)
	if !ok {
		return
	}
	j.Output.Compress = rng.IntN(3) == 0
	j.Output.Patterns, j.Output.SampleBytes = rng.IntN(4) > 0, 1<<(4+rng.IntN(17))
	j.Output.Dictionaries = m.dictionaries(rng)
	j.Kept = &m.seen.kept
	relocate := map[uint64]bool{}
	for _, f := range m.version.ValueFiles {
		relocate[f.Number] = rng.IntN(3) == 0
	}
	if rng.IntN(2) == 0 {
		j.Output.Values.Relocate = func(file uint64) bool { return relocate[file] }
	} else {
		clear(relocate)
	}
	before, removed := m.state(), m.version
	edit := m.run(j)
	checkSame(m.t, m.what+": visible", m.state().visible(), before.visible())
	taken := moved(edit, removed)
	m.checkTables(edit, taken, relocate)
	if j.ToBottom {
		m.checkBottom(edit)
	} else {
		m.checkYoung(j, edit, removed)
	}
	m.seen.cuts += len(j.Output.Cuts)
	m.seen.moved += len(taken)
	m.seen.dictionaries += len(edit.AddDictionaries)
}

// pick returns a compaction of the oldest young runs into the bottom run, of adjacent young runs,
// or of a single bottom table.
func (m *model) pick(rng *rand.Rand) (j Job, ok bool) {
	n := len(m.version.Young)
	switch rng.IntN(3) {
	case 0:
		if n < 2 {
			return Job{}, false
		}
		count := 2 + rng.IntN(n-1)
		return m.youngJob(rng.IntN(n-count+1), count), true
	case 1:
		return m.job(rng.IntN(n + 1)), true
	}
	if len(m.version.Bottom.Tables) == 0 {
		return Job{}, false
	}
	one := m.version.Bottom.Tables[rng.IntN(len(m.version.Bottom.Tables))]
	return m.intoBottom(m.youngJob(0, 0), func(t *manifest.Table) bool { return t == one }), true
}

// checkTables checks what holds for all output. In tables that are kept as they are, some entries
// may have expired.
func (m *model) checkTables(
	edit *manifest.Edit, taken []*manifest.Table, relocated map[uint64]bool,
) {
	m.t.Helper()
	tables := slices.Clone(edit.AddBottom)
	for _, r := range edit.AddYoung {
		tables = append(tables, r.Tables...)
	}
	for _, meta := range tables {
		if catalog := !keyspace.IsData(meta.Smallest); catalog == keyspace.IsData(meta.Largest) {
			m.t.Errorf("%s: a table is from %q to %q", m.what, meta.Smallest, meta.Largest)
		}
		for _, share := range meta.Values {
			if relocated[share.File] {
				m.t.Errorf("%s: tables point into file %d, which was relocated", m.what, share.File)
			}
		}
	}
	old := m.read(taken)
	for key, c := range m.read(tables) {
		if _, ok := old[key]; m.isDropped(key) || !ok && c.until != 0 && c.until <= now {
			m.t.Fatalf("%s: the output has %q = %q, expired or dropped", m.what, key, c)
		}
	}
	for _, f := range edit.AddValues {
		if _, used := m.version.ValueFile(f.Number); !used {
			m.t.Errorf("%s: nothing points into the new file %d", m.what, f.Number)
		}
		m.seen.relocated++
	}
}

// checkBottom checks that the bottom run holds neither tombstones nor deleted entries.
func (m *model) checkBottom(edit *manifest.Edit) {
	m.t.Helper()
	m.seen.toBottom++
	var deleted keyspace.Spans
	for _, r := range m.version.Young {
		deleted = deleted.With(r.Deleted...)
	}
	for key, c := range m.read(edit.AddBottom) {
		if c.value == nil || deleted.Contains([]byte(key)) {
			m.t.Fatalf("%s: the bottom run has %q = %q, tombstone or deleted", m.what, key, c)
		}
	}
	if len(edit.AddYoung) > 0 {
		m.t.Errorf("%s: a compaction into the bottom run adds %+v", m.what, edit.AddYoung)
	}
}

// checkYoung checks that a young run deletes what its inputs deleted, and mentions the keys that
// one of them mentioned and no newer run deleted.
func (m *model) checkYoung(j Job, edit *manifest.Edit, before *manifest.Version) {
	m.t.Helper()
	m.seen.toYoung++
	inputs, at, err := j.Young.Of(before)
	check(m.t, err)
	var newer keyspace.Spans // what runs that are no inputs delete
	for _, r := range before.Young[:at] {
		newer = newer.With(r.Deleted...)
	}
	var deleted keyspace.Spans
	want := map[string]bool{}
	for _, r := range slices.Backward(inputs) {
		deleted = deleted.With(r.Deleted...)
		maps.DeleteFunc(want, func(key string, _ bool) bool {
			return r.Deleted.Contains([]byte(key))
		})
		for key := range m.keys(r.Tables) {
			want[key] = true
		}
	}
	var output manifest.Run
	if len(edit.AddYoung) > 0 {
		output = edit.AddYoung[0]
	}
	if deleted = manifest.Unmarked(deleted); !slices.EqualFunc(output.Deleted, deleted, sameSpan) {
		m.t.Fatalf("%s: the output deletes %q, want %q", m.what, output.Deleted, deleted)
	}
	maps.DeleteFunc(want, func(key string, _ bool) bool {
		return m.isDropped(key) || newer.Contains([]byte(key))
	})
	if got := m.keys(output.Tables); !maps.Equal(got, want) {
		t := slices.Sorted(maps.Keys(got))
		m.t.Fatalf("%s: the output has keys %q, want %q", m.what, t, slices.Sorted(maps.Keys(want)))
	}
	m.seen.deletions += len(deleted)
	for _, meta := range output.Tables {
		m.seen.tombstones += int(meta.Tombstones)
	}
}

func sameSpan(a, b keyspace.Span) bool {
	return bytes.Equal(a.Start, b.Start) && bytes.Equal(a.End, b.End)
}

func TestDo_leavesWhatAMapWouldHold(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	seen := &tally{}
	for name, sh := range shapes() {
		t.Run(name, func(t *testing.T) {
			for i := range 4 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				if i < 2 { // so that rare things are sure to happen
					rng = rand.New(rand.NewPCG(uint64(i), 3))
				}
				m := &model{
					store: newStore(t), what: fmt.Sprintf("seed %d, store %d", seed, i),
					want: writes{}, dropped: map[uint64]bool{}, seen: seen,
				}
				for range 15 {
					m.tableBytes, m.blockBytes = rng.Int64N(2000), 1+rng.IntN(200)*(1+9*rng.IntN(2))
					m.values = run.Values{Separate: sh.separate, FileBytes: rng.Int64N(2000)}
					m.fill(rng, sh)
					m.drop(rng, sh)
					if rng.IntN(2) == 0 {
						m.compact(rng)
					}
					checkSame(t, m.what, m.state().visible(), m.want.visible())
				}
			}
		})
	}
	t.Logf("%+v", *seen)
	if min(seen.toBottom, seen.toYoung, seen.relocated, seen.deletions, seen.tombstones,
		seen.cuts, seen.moved, seen.kept.Tables, seen.kept.Blocks, 5*seen.dictionaries) < 10 {
		t.Errorf("seed %d: compactions were only %+v", seed, seen)
	}
}
