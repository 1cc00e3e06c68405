package pick

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// tableOf returns a table of size bytes over the keys first to last of the root bucket.
func tableOf(number, size uint64, first, last string) *manifest.Table {
	return &manifest.Table{
		Number: number, Size: size, Entries: 1,
		Smallest: append(keyspace.AppendPrefix(nil, 0), first...),
		Largest:  append(keyspace.AppendPrefix(nil, 0), last...),
	}
}

func runsOf(tables ...*manifest.Table) (runs []manifest.Run) {
	for _, t := range tables {
		runs = append(runs, manifest.Run{Tables: []*manifest.Table{t}})
	}
	return runs
}

// deletion returns a young run that deletes the keys [first, end) of the root bucket.
func deletion(first, end string) manifest.Run {
	prefix := string(keyspace.AppendPrefix(nil, 0))
	return manifest.Run{Deleted: keyspace.Spans{
		{Start: []byte(prefix + first), End: []byte(prefix + end)},
	}}
}

// deletions returns a young run that deletes n ranges between the keys d and e of the root bucket.
func deletions(n int) manifest.Run {
	prefix := string(keyspace.AppendPrefix(nil, 0))
	r := manifest.Run{Deleted: make(keyspace.Spans, n)}
	for i := range r.Deleted {
		r.Deleted[i].Start = fmt.Appendf(nil, "%sd%06d", prefix, i)
		r.Deleted[i].End = append(bytes.Clone(r.Deleted[i].Start), '5')
	}
	return r
}

// testPicker returns a picker for which all tables are large enough.
func testPicker() Picker {
	return Picker{Limits: Limits{YoungRuns: 4, ValueBytes: 64 * testMB}, Now: 1000}
}

// due returns what was picked if it is due although commits come in.
func due(next Plan, ok bool) (Plan, bool) { return next, ok && !next.Idle }

// outcome describes what was picked, in one line.
func outcome(next Plan, ok bool) string {
	if !ok {
		return "nothing"
	}
	s := next.Why
	if n := next.Young.Count; n > 0 {
		s += fmt.Sprintf(" young %d..%d", next.Young.Older, next.Young.Older+n-1)
	}
	if len(next.Bottom) > 0 {
		s += fmt.Sprintf(" bottom %v", next.Bottom)
	}
	if len(next.Relocate) > 0 {
		s += fmt.Sprintf(" files %v", next.Relocate)
	}
	if next.Unread {
		s += " unread"
	} else if next.ToBottom {
		s += " down"
	}
	return s
}

const testMB = 1 << 20

// largeBottom returns a bottom run of three large tables.
func largeBottom() manifest.Run {
	return manifest.Run{Tables: []*manifest.Table{
		tableOf(1, 1000*testMB, "a", "c"), tableOf(2, 1000*testMB, "d", "f"),
		tableOf(3, 1000*testMB, "x", "z"),
	}}
}

// pickCase is a version and what is to be picked.
type pickCase struct {
	name    string
	version manifest.Version
	busy    string // what is due although commits come in
	idle    string // what is tidied when none do
}

func checkPicks(t *testing.T, cases []pickCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := testPicker()
			if got := outcome(due(p.Next(&c.version))); got != c.busy {
				t.Errorf("while busy: %s, want %s", got, c.busy)
			}
			if got := outcome(p.Next(&c.version)); got != c.idle {
				t.Errorf("when idle: %s, want %s", got, c.idle)
			}
		})
	}
}

func TestPick_decides(t *testing.T) {
	bottom := largeBottom()
	small := func(n int) []manifest.Run {
		var tables []*manifest.Table
		for i := range n {
			tables = append(tables, tableOf(uint64(10+i), testMB, "e", "g"))
		}
		return runsOf(tables...)
	}
	expiring := tableOf(4, 1, "n", "p")
	expiring.StaleAt = 1000
	checkPicks(t, []pickCase{
		{"an empty database", manifest.Version{}, "nothing", "nothing"},
		{"one run", manifest.Version{Bottom: bottom}, "nothing", "nothing"},
		{"few young runs above a small bottom run",
			manifest.Version{Young: small(2), Bottom: manifest.Run{Tables: []*manifest.Table{
				tableOf(1, 5*testMB, "a", "c"), tableOf(2, 5*testMB, "d", "f")}}},
			"nothing", "tidy young 0..1 bottom [2] down"},
		{"few young runs above a large bottom run",
			manifest.Version{Young: small(2), Bottom: bottom}, "nothing", "tidy young 0..1"},
		{"too many young runs that are small beside what they overlap",
			manifest.Version{Young: small(12), Bottom: bottom},
			"crowded young 0..11", "crowded young 0..11"},
		{"many young runs that overlap nothing",
			manifest.Version{Young: runsOf(
				tableOf(10, 900*testMB, "g", "h"), tableOf(11, 900*testMB, "g", "h"),
				tableOf(12, 900*testMB, "g", "h"), tableOf(13, 300*testMB, "g", "h")),
				Bottom: bottom},
			"grown young 0..3 down", "grown young 0..3 down"},
		{"a gap between what young runs overlap",
			manifest.Version{
				Young:  runsOf(tableOf(10, 200*testMB, "b", "b"), tableOf(11, testMB, "y", "y")),
				Bottom: bottom,
			},
			"nothing", "tidy young 0..1 bottom [1 3] down"},
		{"a dropped bucket of which nothing is left in a table",
			manifest.Version{Bottom: bottom, DropEpoch: 1,
				Dropped: []manifest.Drop{{First: 0, Last: 0, Epoch: 1}}},
			"covered bottom [1 2 3] unread", "covered bottom [1 2 3] unread"},
		{"a dropped bucket that no table can hold",
			manifest.Version{Bottom: bottom, DropEpoch: 1,
				Dropped: []manifest.Drop{{First: 7, Last: 9, Epoch: 1}}},
			"nothing", "nothing"},
		{"entries that have expired",
			manifest.Version{Bottom: manifest.Run{Tables: []*manifest.Table{expiring}}},
			"stale bottom [4] down", "stale bottom [4] down"},
	})
}

func TestPick_decidesAboutRangeDeletions(t *testing.T) {
	bottom := largeBottom()
	uneven := manifest.Run{Tables: []*manifest.Table{
		bottom.Tables[0], tableOf(2, 130*testMB, "d", "f"), bottom.Tables[2],
	}}
	checkPicks(t, []pickCase{
		{"a deletion of some tables and a part of another",
			manifest.Version{Young: []manifest.Run{deletion("a", "e")}, Bottom: bottom},
			"covered bottom [1] unread", "covered bottom [1] unread"},
		{"deletions of several runs that join over tables",
			manifest.Version{Young: []manifest.Run{
				deletion("b", "dd"), deletion("dd", "g"), deletion("a", "b")}, Bottom: bottom},
			"covered bottom [1 2] unread", "covered bottom [1 2] unread"},
		{"deletions of several runs with a gap over a table",
			manifest.Version{Young: []manifest.Run{
				deletion("xx", "zz"), deletion("w", "x"), deletion("x5", "y")},
				Bottom: bottom},
			"nothing", "tidy young 0..2 bottom [3] down"},
		{"a deletion that ends with a table's last key",
			manifest.Version{Young: []manifest.Run{deletion("x", "z")}, Bottom: bottom},
			"nothing", "tidy young 0..0 bottom [3] down"},
		{"not many deletions, in a small part of the bottom run",
			manifest.Version{Young: []manifest.Run{deletions(manySpans)}, Bottom: uneven},
			"nothing", "nothing"},
		{"many deletions, in a small part of the bottom run",
			manifest.Version{Young: []manifest.Run{deletions(manySpans), deletion("m", "n")},
				Bottom: uneven},
			"grown young 0..1 bottom [2] down", "grown young 0..1 bottom [2] down"},
		{"many deletions in several runs",
			manifest.Version{
				Young:  []manifest.Run{deletions(manySpans / 2), deletions(manySpans/2 + 1)},
				Bottom: bottom},
			"grown young 0..1 bottom [2] down", "grown young 0..1 bottom [2] down"},
	})
}

func TestPick_takesEveryBottomTableThatYoungOnesTouch(t *testing.T) {
	version := manifest.Version{Young: runsOf(tableOf(9, 1, "c", "x"))}
	for i, edge := range []string{"a", "b", "c", "d", "w", "x", "y"} {
		version.Bottom.Tables = append(version.Bottom.Tables, tableOf(uint64(i), 1, edge, edge))
	}
	next, _ := testPicker().Next(&version)
	if want := []uint64{2, 3, 4, 5}; !slices.Equal(next.Bottom, want) {
		t.Errorf("picked bottom tables %v, want %v", next.Bottom, want)
	}
}

func TestPick_splitsATableThatIsPartlyOfADroppedBucket(t *testing.T) {
	both := tableOf(1, 1, "a", "c")
	both.Largest = append(keyspace.AppendPrefix(nil, 5), 'z')
	version := manifest.Version{Bottom: manifest.Run{Tables: []*manifest.Table{both}}, DropEpoch: 1,
		Dropped: []manifest.Drop{{First: 5, Last: 5, Epoch: 1}}}
	if got := outcome(due(testPicker().Next(&version))); got != "nothing" {
		t.Errorf("while busy: %s", got)
	}
	got := outcome(testPicker().Next(&version))
	if got != "dropped bottom [1] down" {
		t.Errorf("when idle: %s", got)
	}
}

// Runs that were flushed into a gap go to the bottom run, which moves them, not into each other.
func TestPick_movesWhatLiesInAGap(t *testing.T) {
	gap := func(n int) (runs []manifest.Run) {
		for i := range n {
			key := fmt.Sprintf("b%02d", n-i)
			table := tableOf(uint64(10+i), 15*testMB, key, key+"z")
			table.Compressed = true
			runs = append(runs, manifest.Run{Tables: []*manifest.Table{table}})
		}
		return runs
	}
	plain := gap(12)
	for _, r := range plain {
		r.Tables[0].Compressed = false
	}
	bottom := largeBottom()
	bottom.Tables[0] = tableOf(1, 32*testMB, "a", "c")
	after := append(runsOf(tableOf(9, testMB, "b", "c"), tableOf(8, testMB, "b", "e")), gap(12)...)
	checkPicks(t, []pickCase{
		{"few runs in a gap", manifest.Version{Young: gap(2), Bottom: bottom},
			"nothing", "tidy young 0..1 bottom [1] down"},
		{"many runs in a gap", manifest.Version{Young: gap(12), Bottom: bottom},
			"crowded young 0..11 bottom [1] down", "crowded young 0..11 bottom [1] down"},
		{"many runs that are to be compressed", manifest.Version{Young: plain, Bottom: bottom},
			"crowded young 0..11", "crowded young 0..11"},
		{"newer keys among those in a gap", manifest.Version{Young: after, Bottom: bottom},
			"crowded young 10..13", "crowded young 10..13"},
	})
}

// loading is a load of equal flushes over one range of keys, as the picker sees it: compactions are
// done at once and lose nothing.
type loading struct {
	picker  Picker
	idle    bool // nobody commits for a while after each flush
	version manifest.Version
	next    uint64
	written uint64 // by compactions
	runs    int    // most at a time
	lines   []string
}

func (l *loading) flush(t *testing.T, size uint64) {
	l.next++
	run := runsOf(tableOf(l.next, size, "a", "z"))
	l.apply(t, &manifest.Edit{AddYoung: run})
	for {
		next, ok := l.picker.Next(&l.version)
		if !ok || next.Idle && !l.idle {
			return
		}
		l.lines = append(l.lines, fmt.Sprintf("%d: %s", l.next, outcome(next, ok)))
		bytes := next.Bytes(&l.version)
		l.written += bytes
		l.next++
		compacted := tableOf(l.next, bytes, "a", "z")
		edit := &manifest.Edit{RemoveYoung: next.Young, Remove: next.Bottom}
		if next.ToBottom {
			edit.AddBottom = []*manifest.Table{compacted}
		} else {
			edit.AddYoung = runsOf(compacted)
		}
		l.apply(t, edit)
	}
}

func (l *loading) apply(t *testing.T, edit *manifest.Edit) {
	t.Helper()
	version, err := l.version.Apply(edit)
	if err != nil {
		t.Fatal(err)
	}
	l.version = *version
	l.runs = max(l.runs, len(version.Young))
}

func TestPick_compactsALoadLikeThis(t *testing.T) {
	l := loading{picker: testPicker()}
	for range 40 {
		l.flush(t, 64*testMB)
	}
	want := `
4: grown young 0..3 down
9: grown young 0..3 bottom [5] down
18: grown young 0..7 bottom [10] down
31: crowded young 0..11
36: grown young 0..4 bottom [19] down`
	got := "\n" + strings.Join(l.lines, "\n")
	if got != want {
		t.Errorf("the picker decided:%s", got)
	}
}

func TestPick_boundsTheRunsAndWhatALoadWrites(t *testing.T) {
	for _, flushes := range []int{16, 64, 256, 1024} {
		l := loading{picker: testPicker()}
		for range flushes {
			l.flush(t, 64*testMB)
		}
		amplification := float64(l.written) / (float64(flushes) * 64 * testMB)
		t.Logf("%d flushes: %.1f times written, at most %d young runs", flushes, amplification, l.runs)
		if l.runs > 12 || amplification > 8 {
			t.Errorf("%d flushes: %d young runs, %.1f times written", flushes, l.runs, amplification)
		}
	}
}
