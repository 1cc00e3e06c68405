package flush

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
)

// model is a store and what a reader of it should see.
type model struct {
	*store
	rng  *rand.Rand
	want writes
	what string // for messages
}

// put puts a value of random size under a key, which may expire.
func (m *model) put(e *memtable.Edit, key string) {
	value := filled(fmt.Sprintf("%x", m.rng.Uint64()), m.rng.IntN(50))
	if m.rng.IntN(3) == 0 {
		value = filled(key, separate-10+m.rng.IntN(150))
	}
	if m.want[key] = value; m.rng.IntN(4) > 0 {
		e.PutUntil([]byte(key), value, 0)
		return
	}
	until := 1 + m.rng.Uint64N(2*m.now)
	if e.PutUntil([]byte(key), value, until); until <= m.now {
		delete(m.want, key)
	}
}

// deleteRange deletes user data of a bucket between two keys, or all of it.
func (m *model) deleteRange(e *memtable.Edit, bucket uint64, first, end string) {
	span := keyspace.Span{Start: []byte(dataKey(bucket, first)), End: []byte(dataKey(bucket, end))}
	if m.rng.IntN(4) == 0 {
		span.Start = []byte(dataKey(bucket, ""))
		span.End = keyspace.Successor(span.Start)
	}
	e.DeleteRange(span)
	maps.DeleteFunc(m.want, func(key string, _ []byte) bool { return span.Contains([]byte(key)) })
}

// write does random writes to one bucket, in a range of keys that may or may not overlap others.
func (m *model) write(e *memtable.Edit) {
	rng := m.rng
	bucket, low, width := uint64(rng.IntN(3)), rng.IntN(2000), 1+rng.IntN(300)
	number := func() int { return low + rng.IntN(width) }
	for range rng.IntN(40) {
		key := dataKey(bucket, fmt.Sprintf("%04d", number()))
		switch rng.IntN(24) {
		case 0, 1, 2, 3:
			key = catalogKey(bucket, uint64(10+rng.IntN(500)))
			m.put(e, key)
		case 4, 5, 6, 7:
			e.Delete([]byte(key))
			delete(m.want, key)
		case 8:
			first := number()
			m.deleteRange(e, bucket, fmt.Sprintf("%04d", first),
				fmt.Sprintf("%04d", first+1+rng.IntN(width)))
		default:
			m.put(e, key)
		}
	}
}

// flush writes some transactions and flushes them.
func (m *model) flush() *manifest.Edit {
	m.t.Helper()
	l := m.log()
	l.commit(func(e *memtable.Edit) { m.write(e) })
	for range m.rng.IntN(4) {
		l.commit(func(e *memtable.Edit) { m.write(e) })
		if m.rng.IntN(4) == 0 {
			before := maps.Clone(m.want)
			l.rollback(func(e *memtable.Edit) { m.write(e) })
			m.want = before
		}
	}
	j := l.seal()
	switch m.rng.IntN(5) {
	case 0:
		j.Log = manifest.ValueFile{}
	case 1:
		j.Root = l.replay()
	}
	j.Output.TableBytes, j.Output.BlockBytes = m.rng.Int64N(4000), 1+m.rng.IntN(300)
	j.Output.Values.Separate = []int{0, 20, separate}[m.rng.IntN(3)]
	j.Output.Values.FileBytes = m.rng.Int64N(2000)
	if m.rng.IntN(3) == 0 {
		j.Quick, j.Pieces, j.Together = true, m.rng.IntN(5), together
		j.CompressBottom, j.Reach = m.rng.IntN(2) == 0, m.rng.Int64N(500)
	}
	return m.run(j)
}

func TestDo_leavesTablesThatSayWhatWasWritten(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	youngTables, bottom, logs, files, deletions := 0, 0, 0, 0, 0
	for i := range 40 {
		m := &model{
			store: newStore(t), rng: rng, want: writes{},
			what: fmt.Sprintf("seed %d, store %d", seed, i),
		}
		m.now = 500
		for range 8 {
			edit := m.flush()
			checkSame(t, m.what, m.visible(), m.want)
			youngTables, bottom = youngTables+len(young(edit)), bottom+len(edit.AddBottom)
			for _, run := range edit.AddYoung {
				deletions += len(run.Deleted)
			}
		}
		for _, f := range m.version.ValueFiles {
			if f.Log {
				logs++
			} else {
				files++
			}
		}
	}
	if min(youngTables, bottom, logs, files, deletions) < 20 {
		t.Errorf("seed %d: %d young and %d bottom tables, %d logs, %d value files, %d deletions",
			seed, youngTables, bottom, logs, files, deletions)
	}
}
