package merge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

func dropping(ids ...uint64) *manifest.Edit { return &manifest.Edit{Drop: ids} }

// shape says what the runs of a random store are like.
type shape struct {
	buckets    int // how many there are
	perRun     int // at most so many writes
	span       int // of a run's keys, of 1000; small ones leave gaps
	tombstones int // one of so many writes is one; 0 for none
	valueBytes int // at most
}

func shapes() map[string]shape {
	return map[string]shape{
		"mixed":           {3, 80, 300, 4, 40},
		"dense":           {1, 200, 200, 4, 10},
		"apart":           {2, 40, 20, 5, 20},
		"many tombstones": {2, 120, 250, 2, 20},
		"only puts":       {4, 80, 500, 0, 30},
		"large values":    {2, 30, 100, 4, 900},
		"few":             {3, 3, 1000, 3, 10},
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
		w[key] = fmt.Appendf(nil, "%0*x", 1+rng.IntN(sh.valueBytes), rng.Uint64())
		if sh.tombstones > 0 && rng.IntN(sh.tombstones) == 0 {
			w[key] = nil
		}
	}
	return w
}

// model is a store and what it should say.
type model struct {
	*store
	what    string // for messages
	want    writes
	dropped map[uint64]bool
}

// fill adds a random run, the first time to the bottom run.
func (m *model) fill(rng *rand.Rand, sh shape) {
	m.t.Helper()
	w := sh.writes(rng)
	maps.DeleteFunc(w, func(key string, _ []byte) bool { return m.isDropped(key) })
	if len(w) == 0 {
		return
	}
	if len(m.want) == 0 {
		if w = w.visible(); len(w) > 0 {
			m.bottom(w)
		}
	} else {
		m.young(w)
	}
	m.want = w.over(m.want).visible()
}

func (m *model) isDropped(key string) bool {
	id, ok := keyspace.BucketOf([]byte(key))
	return ok && m.dropped[id]
}

// drop drops a random bucket but for the root bucket, in one case of ten.
func (m *model) drop(rng *rand.Rand, sh shape) {
	m.t.Helper()
	id := uint64(rng.IntN(sh.buckets))
	if id == keyspace.RootID || m.dropped[id] || rng.IntN(10) > 0 {
		return
	}
	m.apply(dropping(id))
	m.dropped[id] = true
	maps.DeleteFunc(m.want, func(key string, _ []byte) bool { return m.isDropped(key) })
}

// merge merges some of the oldest young runs, or rewrites a bottom table, and checks the outcome.
func (m *model) merge(rng *rand.Rand) {
	m.t.Helper()
	j := m.job(rng.IntN(len(m.version.Young) + 1))
	if len(j.Young) == 0 {
		bottom := m.levels().Bottom
		if len(bottom) == 0 {
			return
		}
		at := rng.IntN(len(bottom))
		j.Bottom = bottom[at : at+1]
	}
	j.Output.Compress = rng.IntN(2) == 0
	before := m.state()
	edit := m.run(j)
	checkSame(m.t, m.what+": visible", m.state().visible(), before.visible())
	for _, meta := range edit.AddBottom {
		if catalog := !keyspace.IsData(meta.Smallest); catalog == keyspace.IsData(meta.Largest) {
			m.t.Errorf("%s: a table is from %q to %q", m.what, meta.Smallest, meta.Largest)
		}
	}
	for key, value := range m.read(edit.AddBottom) {
		if value == nil || m.isDropped(key) {
			m.t.Fatalf("%s: the output has %q = %q, tombstone or dropped", m.what, key, value)
		}
	}
}

func TestRun_leavesWhatAMapWouldHold(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, sh := range shapes() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			for i := range 8 {
				m := &model{
					store: newStore(t), what: fmt.Sprintf("seed %d, store %d", seed, i), want: writes{},
					dropped: map[uint64]bool{},
				}
				for range 15 {
					m.tableBytes, m.blockBytes = rng.Int64N(2000), 1+rng.IntN(200)
					m.fill(rng, sh)
					m.drop(rng, sh)
					if rng.IntN(2) == 0 {
						m.merge(rng)
					}
					checkSame(t, m.what, m.state().visible(), m.want)
				}
			}
		})
	}
}
