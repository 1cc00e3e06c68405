package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// ascendingWords returns so many words in order.
func ascendingWords(prefix string, n int) (words []string) {
	for i := range n {
		words = append(words, fmt.Sprintf("%s%05d", prefix, i))
	}
	return words
}

// Ascending keys among others are written once, whether they come in commits or in a load, and are
// compressed as what stays is.
func TestCompaction_writesAscendingKeysAmongOthersOnce(t *testing.T) {
	words := ascendingWords("k", 3000)
	for name, fill := range map[string]func(e *Engine){
		"commits": func(e *Engine) {
			for part := range slices.Chunk(words, 500) {
				w, err := e.Begin()
				ok(t, err)
				for _, word := range part {
					ok(t, w.Put(dataKey("%s", word), []byte(word), 0))
				}
				ok(t, w.Commit())
				ok(t, e.Flush())
			}
		},
		"a load": func(e *Engine) {
			l, err := e.BeginLoad(t.Context())
			ok(t, err)
			for _, word := range words {
				ok(t, l.Put(dataKey("%s", word), []byte(word)))
			}
			ok(t, l.Commit())
		},
	} {
		o := calm()
		o.Tuning.TableBytes, o.Tuning.BlockBytes = 4<<10, 512
		e := mustOpen(t, memfs.New(), o)
		mustCommit(t, e, "a")
		ok(t, e.Flush())
		mustCommit(t, e, "z")
		ok(t, e.Flush())
		fill(e)
		before := e.Stats()
		if before.YoungRuns == 0 {
			t.Errorf("%s: nothing is left to compact", name)
		}
		next := pick.IntoBottom(e.state.Load().Levels.Version)
		ok(t, e.compact(next, false, func() bool { return false }))
		s := e.Stats()
		if s.MergedBytes > before.TableBytes/4 || s.YoungRuns > 0 {
			t.Errorf("%s: before the compaction %+v\nand after it %+v", name, before, s)
		}
		for _, table := range e.state.Load().Levels.Version.Bottom.Tables {
			if !table.Compressed {
				t.Errorf("%s: table %06d is not compressed", name, table.Number)
			}
		}
		wantWords(t, e, append(append([]string{"a"}, words...), "z")...)
		ok(t, e.Close())
	}
}

// A load that comes to what is there already goes on in another run.
func TestLoad_endsAGapWhereKeysAre(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	mustCommit(t, e, "a", "k00500x", "z")
	ok(t, e.Flush())
	words := ascendingWords("k", 1000)
	l, err := e.BeginLoad(t.Context())
	ok(t, err)
	for _, word := range words {
		ok(t, l.Put(dataKey("%s", word), []byte(word)))
	}
	ok(t, l.Commit())
	want := append(append([]string{"a", "k00500x"}, words...), "z")
	slices.Sort(want)
	wantWords(t, e, want...)
	v := e.state.Load().Levels.Version
	if len(v.Young) != 1 || len(v.Young[0].Tables) != 2 {
		t.Errorf("the load makes the young runs %v", v.Young)
	}
	ok(t, e.Close())
}
