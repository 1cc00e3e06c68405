package pick

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// simulation is a database as a picker sees it. Its keys are numbers, all its entries have one
// size, and compactions are done at once.
type simulation struct {
	t       testing.TB
	picker  Picker
	without string // a reason that does not count
	pause   int    // a pause in the commits comes after so many flushes
	key     uint64 // bytes of an entry in a table
	value   uint64 // bytes of its value in a value file; 0 if it has none
	ttl     int    // an entry expires after about so many flushes; 0 is never
	version manifest.Version
	next    uint64
	tables  map[uint64]map[int]uint64 // by number: the keys, with the files of their values
	live    map[int]bool
	random  *rand.Rand

	flushes, runs    int
	flushed, written uint64
	space            float64 // most bytes of files for one that is live
	extra            uint64  // most bytes that a compaction has written before it was installed
	extraDown        uint64  // of those into the bottom run
}

// simulate returns an empty database whose entries have so many bytes.
func simulate(t testing.TB, without string, key, value uint64) *simulation {
	s := &simulation{
		t: t, without: without, pause: 16, key: key, value: value, next: 1,
		tables: make(map[uint64]map[int]uint64), live: make(map[int]bool),
		random: rand.New(rand.NewPCG(1, 2)),
	}
	s.picker.Limits = Limits{
		YoungRuns: 4, Garbage: 4 * testMB, SmallTable: 8 * testMB, ValueBytes: 64 * testMB,
	}
	return s
}

func numberKey(n int) []byte { return fmt.Appendf(keyspace.AppendPrefix(nil, 0), "%08d", n) }

// upTo returns n keys from first on.
func upTo(first, n int) (keys []int) {
	for i := range n {
		keys = append(keys, first+i)
	}
	return keys
}

// some returns n random keys below end.
func (s *simulation) some(n, end int) (keys []int) {
	for range n {
		keys = append(keys, s.random.IntN(end))
	}
	return keys
}

// flush writes a memtable with the keys, which deletes those from first on before it, and does what
// is to be done then.
func (s *simulation) flush(keys []int, first, deleted int) {
	s.add(keys, first, deleted)
	s.flushes++
	s.picker.Now = uint64(s.flushes)
	s.compact(urgent(), 100)
	if s.flushes%s.pause == 0 {
		s.compact(tidying(), 1)
	}
	s.runs += len(s.version.Young)
}

// add writes a memtable.
func (s *simulation) add(keys []int, first, deleted int) {
	log := s.number()
	entries := make(map[int]uint64)
	for n := first; n < first+deleted; n++ {
		delete(s.live, n)
	}
	for _, n := range keys {
		entries[n] = log
		s.live[n] = true
	}
	young := manifest.Run{Tables: s.write(entries, nil)}
	if deleted > 0 {
		span := keyspace.Span{Start: numberKey(first), End: numberKey(first + deleted)}
		young.Deleted = keyspace.Spans{span}
	}
	edit := &manifest.Edit{AddYoung: []manifest.Run{young}}
	if s.value > 0 {
		size := uint64(len(entries)) * s.value
		edit.AddValues = []manifest.ValueFile{{Number: log, Size: size, Log: true}}
		s.flushed += size
	}
	s.flushed += young.Bytes()
	s.install(edit)
}

// compact does up to most compactions for the reasons. One that is done in steps counts once.
func (s *simulation) compact(reasons []reason, most int) {
	reasons = slices.DeleteFunc(reasons, func(r reason) bool { return r.why == s.without })
	s.picker.Begun = ""
	for n := 0; n < most; {
		next, ok := s.picker.first(&s.version, reasons)
		if !ok {
			return
		}
		s.do(next)
		if s.picker.Begun != next.Why || len(next.Relocate) == 0 {
			n++
		}
		s.picker.Begun = next.Why
	}
}

// do does a compaction.
func (s *simulation) do(next Plan) {
	edit := &manifest.Edit{RemoveYoung: next.Young, Remove: next.Bottom}
	if next.Unread {
		s.install(edit)
		return
	}
	all := make(map[int]uint64)
	var cuts []string // between tables of the bottom run that stay
	for _, t := range s.version.Bottom.Tables {
		if slices.Contains(next.Bottom, t.Number) {
			maps.Copy(all, s.tables[t.Number])
		} else if next.ToBottom {
			cuts = append(cuts, string(t.Smallest))
		}
	}
	runs, _, err := next.Young.Of(&s.version)
	if err != nil {
		s.t.Fatal(err)
	}
	if next.Front {
		runs = runs[1:]
	}
	var deleted keyspace.Spans
	for _, r := range slices.Backward(runs) {
		deleted = deleted.With(r.Deleted...)
		maps.DeleteFunc(all, func(n int, _ uint64) bool {
			_, gone := r.Deleted.Find(numberKey(n))
			return gone
		})
		for _, t := range r.Tables {
			maps.Copy(all, s.tables[t.Number])
		}
	}
	if next.ToBottom {
		maps.DeleteFunc(all, func(n int, _ uint64) bool { return s.expired(n) })
	}
	s.leaveOut(all, next)
	before := s.written
	s.relocate(all, next, edit)
	s.written += uint64(len(all)) * s.key
	s.extra = max(s.extra, s.written-before)
	if next.ToBottom {
		s.extraDown = max(s.extraDown, s.written-before)
	}
	if tables := s.write(all, cuts); next.Front || next.End != nil {
		s.editPart(edit, next, tables)
	} else if next.ToBottom {
		edit.AddBottom = tables
	} else {
		edit.AddYoung = []manifest.Run{{Tables: tables, Deleted: deleted}}
	}
	s.install(edit)
}

// relocate moves the values of the entries in some files into new ones.
func (s *simulation) relocate(all map[int]uint64, next Plan, edit *manifest.Edit) {
	moved := uint64(0)
	var file *manifest.ValueFile
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if next.MostValues > 0 && moved >= next.MostValues {
			break
		}
		if !slices.Contains(next.Relocate, all[n]) {
			continue
		}
		if file == nil || file.Size >= s.picker.ValueBytes {
			empty := manifest.ValueFile{Number: s.number(), Size: fileheader.Size}
			edit.AddValues = append(edit.AddValues, empty)
			file = &edit.AddValues[len(edit.AddValues)-1]
		}
		all[n] = file.Number
		file.Size += s.value
		moved += s.value
	}
	s.written += moved
}

// write makes tables of entries, none of which lies on both sides of a cut.
func (s *simulation) write(all map[int]uint64, cuts []string) (tables []*manifest.Table) {
	side := func(n int) int { return sort.SearchStrings(cuts, string(numberKey(n))) }
	for rest := slices.Sorted(maps.Keys(all)); len(rest) > 0; {
		count := min(len(rest), int(32*testMB/s.key))
		for side(rest[count-1]) != side(rest[0]) {
			count--
		}
		keys := rest[:count]
		rest = rest[count:]
		t := &manifest.Table{
			Number: s.number(), Size: uint64(count) * s.key, Entries: uint64(count),
			Smallest: numberKey(keys[0]), Largest: numberKey(keys[count-1]),
		}
		if s.ttl > 0 {
			t.StaleAt = uint64(keys[count/2]/64 + s.ttl)
		}
		s.tables[t.Number] = make(map[int]uint64)
		shares := make(map[uint64]uint64)
		for _, n := range keys {
			s.tables[t.Number][n] = all[n]
			shares[all[n]] += s.value
		}
		for _, file := range slices.Sorted(maps.Keys(shares)) {
			if s.value > 0 {
				t.Values = append(t.Values, manifest.ValueShare{
					File: file, Count: shares[file] / s.value, Bytes: shares[file],
				})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// expired reports whether a key has expired, if each flush writes the next 64 keys.
func (s *simulation) expired(n int) bool { return s.ttl > 0 && n/64+s.ttl <= s.flushes }

func (s *simulation) install(edit *manifest.Edit) {
	version, err := s.version.Apply(edit)
	if err != nil {
		s.t.Fatal(err)
	}
	s.version = *version
	all := version.Bottom.Bytes() + youngBytes(version)
	for _, f := range version.ValueFiles {
		all += f.Size
	}
	live := 0
	for n := range s.live {
		if !s.expired(n) {
			live++
		}
	}
	s.space = max(s.space, float64(all)/float64(max(1, uint64(live)*(s.key+s.value))))
}

func (s *simulation) number() uint64 {
	s.next++
	return s.next - 1
}

// settle is a long pause.
func (s *simulation) settle() { s.compact(append(urgent(), tidying()...), 100) }

// scatteredShare returns how much of the values lies in log segments.
func (s *simulation) scatteredShare() float64 {
	var all, logs float64
	for _, f := range s.version.ValueFiles {
		all += float64(f.Live)
		if f.Log {
			logs += float64(f.Live)
		}
	}
	return logs / max(1, all)
}

func (s *simulation) amplification() float64 { return float64(s.written) / float64(s.flushed) }
func (s *simulation) youngRuns() float64     { return float64(s.runs) / float64(s.flushes) }

// overwrite is a database of 1 GB whose entries are overwritten at random, n at a time.
func overwrite(s *simulation, n, flushes int) {
	keys := int(1024 * testMB / (s.key + s.value))
	for i := range 16 {
		s.flush(upTo(i*keys/16, keys/16), 0, 0)
	}
	for range flushes {
		s.flush(s.some(n, keys), 0, 0)
	}
}

// TestPick_everyReasonPays takes away one reason at a time and wants the simulation to be worse
// without it, by the factor. docs/design/compaction-picking.md has the numbers.
func TestPick_everyReasonPays(t *testing.T) {
	for _, c := range []struct {
		why, what string
		factor    float64
		measure   func(without string) float64
	}{
		{"covered", "a queue: bytes written", 1.5, func(without string) float64 {
			s := simulate(t, without, testMB, 0)
			for i := range 200 {
				s.flush(upTo(i*64, 64), (i-20)*64, max(0, min(i-19, 1))*64)
			}
			return s.amplification()
		}},
		{"grown", "large values overwritten: space", 1.25, func(without string) float64 {
			s := simulate(t, without, 16<<10, testMB)
			overwrite(s, 64, 100)
			return s.space
		}},
		{"crowded", "small values overwritten: young runs", 1.3, func(without string) float64 {
			s := simulate(t, without, testMB, 0)
			overwrite(s, 8, 200)
			return s.youngRuns()
		}},
		{"reclaim", "large values overwritten: space", 1.5, func(without string) float64 {
			s := simulate(t, without, 16<<10, testMB)
			overwrite(s, 64, 100)
			return s.space
		}},
		{"stale", "entries that expire: space", 1.3, func(without string) float64 {
			s := simulate(t, without, testMB, 0)
			s.ttl = 20
			for i := range 200 {
				s.flush(upTo(i*64, 64), 0, 0)
			}
			return s.space
		}},
		{"tidy", "a few small values at a time: young runs", 2, func(without string) float64 {
			s := simulate(t, without, testMB, 0)
			s.pause = 1
			overwrite(s, 4, 200)
			return s.youngRuns()
		}},
		{"crumbs", "tables of a few short sessions", 4, func(without string) float64 {
			s := simulate(t, without, testMB, 0)
			s.pause = 1
			for i := range 64 {
				s.flush([]int{i}, 0, 0)
			}
			s.settle()
			return float64(len(s.version.Bottom.Tables))
		}},
		{"scattered", "large values that are not in order", 100, func(without string) float64 {
			s := simulate(t, without, 16<<10, testMB)
			overwrite(s, 64, 0)
			s.settle()
			return 0.001 + s.scatteredShare()
		}},
	} {
		with, lacking := c.measure(""), c.measure(c.why)
		t.Logf("%-9s %s: %.2f with it, %.2f without", c.why, c.what, with, lacking)
		if lacking < c.factor*with {
			t.Errorf("%s is not worse by a factor of %.2f without %q", c.what, c.factor, c.why)
		}
	}
}
