package pick

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// frontOf returns a front that has the keys of the root bucket below end, in some tables.
func frontOf(end string, tables ...*manifest.Table) manifest.Run {
	prefix := string(keyspace.AppendPrefix(nil, 0))
	return manifest.NewFront(tables, keyspace.Span{Start: []byte(prefix), End: []byte(prefix + end)})
}

func TestPick_goesOnWhereACompactionHasBegun(t *testing.T) {
	inputs := runsOf(tableOf(20, 9*testMB, "e", "q"), tableOf(21, 9*testMB, "d", "m"))
	bottom := manifest.Run{Tables: []*manifest.Table{
		tableOf(1, testMB, "f", "g"), tableOf(2, testMB, "h", "i"), tableOf(3, testMB, "r", "s"),
	}}
	begun := append([]manifest.Run{frontOf("f5", tableOf(30, testMB, "a", "f"))}, inputs...)
	newer := append(runsOf(tableOf(40, testMB, "a", "z"), tableOf(41, testMB, "a", "z")), begun...)
	checkPicks(t, []pickCase{
		{"what has begun", manifest.Version{Young: begun, Bottom: bottom},
			"begun young 0..2 bottom [1 2] down", "begun young 0..2 bottom [1 2] down"},
		{"what has begun, before newer runs", manifest.Version{Young: newer, Bottom: bottom},
			"begun young 0..2 bottom [1 2] down", "begun young 0..2 bottom [1 2] down"},
		{"a table that the front hides in part", manifest.Version{
			Young:  []manifest.Run{frontOf("f5")},
			Bottom: manifest.Run{Tables: []*manifest.Table{tableOf(1, testMB, "f", "g")}},
		}, "begun young 0..0 bottom [1] down", "begun young 0..0 bottom [1] down"},
	})
}

// What reads damaged files waits, and young runs above the front do not.
func TestPick_leavesAFrontAloneThatMeetsDamage(t *testing.T) {
	v := &manifest.Version{Young: append(
		[]manifest.Run{frontOf("c", tableOf(30, testMB, "a", "b"))},
		runsOf(tableOf(20, testMB, "d", "q"))...)}
	p := testPicker()
	p.Damaged = Damaged{20: p.Now + 1}
	if next, ok := p.Next(v); ok {
		t.Errorf("%s is picked", outcome(next, ok))
	}
	if next, ok := NewFull(p).Next(v); !ok || !next.Front {
		t.Errorf("a full compaction picks %s", outcome(next, ok))
	}
}

func TestPick_makesPartsOfWhatIsLarge(t *testing.T) {
	var bottom []*manifest.Table
	for i, first := range "abcdefghij" {
		bottom = append(bottom, tableOf(uint64(1+i), 30*testMB, string(first), string(first)+"z"))
	}
	v := &manifest.Version{
		Bottom: manifest.Run{Tables: bottom},
		Young:  runsOf(tableOf(20, 40*testMB, "a", "z"), tableOf(21, 20*testMB, "c", "d")),
	}
	p := testPicker()
	whole := IntoBottom(v)
	if next := p.part(whole, v); next.End != nil {
		t.Errorf("without a limit, a part ends before %q", next.End)
	}
	p.PartBytes = 240 * testMB // 360 MB are not worth two parts
	if next := p.part(whole, v); next.End != nil {
		t.Errorf("a part of a little less than all ends before %q", next.End)
	}
	p.PartBytes = 100 * testMB
	next := p.part(whole, v)
	if want := append(bytes.Clone(v.Young[1].Tables[0].Largest), 0); !bytes.Equal(next.End, want) {
		t.Errorf("the part ends before %q, want %q", next.End, want)
	}
	if got := outcome(next, true); got != " young 0..1 bottom [1 2 3 4] down" {
		t.Errorf("the part is %q", got)
	}
	if got := next.Reads(v); len(got) != 6 || next.Bytes(v) != 180*testMB {
		t.Errorf("the part reads %v, %d bytes", got, next.Bytes(v))
	}
	if again := p.part(next, v); !bytes.Equal(again.End, next.End) {
		t.Errorf("a part of the part ends before %q", again.End)
	}
	if other := p.part(rewrite(bottom...), v); other.End != nil {
		t.Error("a compaction of the bottom run alone is done in parts")
	}
}

// A full compaction does all parts of what is young at first, and leaves what comes meanwhile.
func TestFull_doesAllPartsOfWhatIsYoung(t *testing.T) {
	s := simulate(t, "", testMB, 0)
	s.picker.PartBytes = 64 * testMB
	for range 4 {
		s.add(s.some(64, 512), 0, 0)
	}
	f, steps := NewFull(s.picker), 0
	for next, ok := f.Next(&s.version); ok; next, ok = f.Next(&s.version) {
		if steps++; steps == 2 {
			s.add(s.some(64, 512), 0, 0)
		}
		s.do(next)
	}
	if steps < 4 || len(s.version.Young) != 1 {
		t.Errorf("after %d steps, there are %d young runs", steps, len(s.version.Young))
	}
	want := s.version.Bottom
	f = NewFull(s.picker)
	next, _ := f.Next(&s.version)
	if s.do(next); next.Front || len(s.version.Bottom.Tables) == len(want.Tables) {
		t.Errorf("the next full compaction begins with %s", outcome(next, true))
	}
}

// A full compaction brings each value into order once, even into files so small that their headers
// are a large part of them.
func TestFull_leavesTheValuesThatItHasBroughtIntoOrder(t *testing.T) {
	s := simulate(t, "", 10, 100)
	s.picker.ValueBytes, s.picker.PartBytes = 256, 512
	for range 4 {
		s.add(s.some(256, 512), 0, 0)
	}
	f := NewFull(s.picker)
	all := uint64(len(s.live)) * s.value
	for next, ok := f.Next(&s.version); ok; next, ok = f.Next(&s.version) {
		if s.do(next); s.written > 8*all {
			t.Fatalf("%d bytes are written for %d, next with %s", s.written, all, outcome(next, ok))
		}
	}
	for _, file := range s.version.ValueFiles {
		if file.Log {
			t.Errorf("the log %d still has values", file.Number)
		}
	}
}

// leaveOut leaves out what a part does not read.
func (s *simulation) leaveOut(all map[int]uint64, next Plan) {
	front, _ := s.version.Front()
	maps.DeleteFunc(all, func(n int, _ uint64) bool {
		key := numberKey(n)
		return next.Front && bytes.Compare(key, front.Done.End) < 0 ||
			next.End != nil && bytes.Compare(key, next.End) >= 0
	})
}

// editPart completes the edit of a part, as the compaction does.
func (s *simulation) editPart(edit *manifest.Edit, next Plan, tables []*manifest.Table) {
	runs, _, err := next.Young.Of(&s.version)
	if err != nil {
		s.t.Fatal(err)
	}
	if next.Front {
		tables, runs = slices.Concat(tables, runs[0].Tables), runs[1:]
	}
	if next.End == nil {
		edit.AddBottom = tables
		return
	}
	edit.Remove = nil
	isDone := func(t *manifest.Table) bool { return bytes.Compare(t.Largest, next.End) < 0 }
	for _, t := range s.version.Bottom.Tables {
		if isDone(t) {
			edit.Remove = append(edit.Remove, t.Number)
			if !slices.Contains(next.Bottom, t.Number) {
				tables = append(tables, t)
			}
		}
	}
	edit.AddYoung = []manifest.Run{
		manifest.NewFront(tables, keyspace.Span{Start: numberKey(0), End: next.End}),
	}
	for _, r := range runs {
		r.Tables = slices.DeleteFunc(slices.Clone(r.Tables), isDone)
		if len(r.Tables)+len(r.Deleted) > 0 {
			edit.AddYoung = append(edit.AddYoung, r)
		}
	}
}

// TestPick_partsTakeLittleSpaceAndNoMoreWrites overwrites a database of 1 GB, in which young runs
// are joined with each other, or wait for the bottom run.
func TestPick_partsTakeLittleSpaceAndNoMoreWrites(t *testing.T) {
	simulated := func(part, young uint64) *simulation {
		s := simulate(t, "", testMB, 0)
		s.picker.PartBytes, s.picker.YoungBytes = part*testMB, young*testMB
		overwrite(s, 64, 100)
		s.settle()
		t.Logf("parts of %d MB, up to %d MB of young runs: %.3f bytes written for each byte flushed, "+
			"%d MB at a time, %d MB into the bottom run", part, young, s.amplification(),
			s.extra/testMB, s.extraDown/testMB)
		return s
	}
	whole, parts, limited := simulated(0, 0), simulated(128, 0), simulated(128, 256)
	if parts.amplification() > 1.01*whole.amplification() {
		t.Errorf("%.3f bytes are written for each byte flushed, want %.3f", parts.amplification(),
			whole.amplification())
	}
	const most = 400 * testMB // a part and a half, and one table of each run
	if parts.extraDown > most || limited.extra > most || whole.extraDown < 2*most {
		t.Errorf("up to %d MB and %d MB at a time, without parts %d", parts.extraDown/testMB,
			limited.extra/testMB, whole.extraDown/testMB)
	}
}
