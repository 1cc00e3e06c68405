package pick

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Bursts with a pause behind each, over a bottom run that is too large to be rewritten for them.
func TestPick_boundsWhatPausesWrite(t *testing.T) {
	for name, bad := range map[string]Damaged{"sound": nil, "damaged": {1: 1 << 62}} {
		l := loading{picker: testPicker(), idle: true}
		l.picker.Damaged = bad
		size := uint64(1000_000 * testMB)
		if bad != nil {
			size = testMB
		}
		l.version.Bottom.Tables = []*manifest.Table{tableOf(1, size, "a", "z")}
		l.version.Bottom.Tables[0].Entries = 1000
		l.next, l.version.NextNumber = 1, 2
		const bursts = 256
		for range bursts {
			l.flush(t, 5*testMB)
		}
		times := float64(l.written) / (bursts * 5 * testMB)
		t.Logf("%s: %.1f times written, at most %d young runs", name, times, l.runs)
		if times > 6 || l.runs > 10 {
			t.Errorf("%s: %.1f times written, %d young runs", name, times, l.runs)
		}
		if first := l.lines[:3]; !slices.Equal(first, []string{
			"3: tidy young 0..1", "6: tidy young 0..2", "9: tidy young 1..2",
		}) {
			t.Errorf("%s: first it decides %q", name, first)
		}
	}
}

// A range that is small beside the bottom run is cut out of the tables at its ends all the same.
func TestPick_cutsARangeOutOfFewTables(t *testing.T) {
	for _, c := range []struct {
		size uint64
		want string
	}{
		{32, "tidy young 0..0 bottom [3 4] down"},
		{100, "nothing"}, // too much to write for what may be little
	} {
		version := manifest.Version{Young: []manifest.Run{deletion("c5", "d5")}}
		for i := range 40 {
			key := string(rune('a' + i))
			table := tableOf(uint64(1+i), c.size*testMB, key+"0", key+"9")
			version.Bottom.Tables = append(version.Bottom.Tables, table)
		}
		got := outcome(testPicker().Next(&version))
		if got != c.want {
			t.Errorf("of tables of %d MB: %s, want %s", c.size, got, c.want)
		}
	}
}

func TestPick_compactsRunsOfLikeSize(t *testing.T) {
	bottom := largeBottom()
	for _, c := range []struct {
		sizes []uint64 // of young runs, newest first
		want  string
	}{
		{[]uint64{5, 10}, "nothing"},
		{[]uint64{5, 5}, "tidy young 0..1"},
		{[]uint64{10, 5}, "tidy young 0..1"},
		{[]uint64{5, 5, 10, 40}, "tidy young 1..3"},
		{[]uint64{1, 10, 10, 10}, "tidy young 0..3"},
		{[]uint64{1, 2, 4, 8}, "nothing"},
	} {
		version := manifest.Version{Bottom: bottom}
		for i, size := range c.sizes {
			run := runsOf(tableOf(uint64(10+i), size*testMB, "b", "y"))
			version.Young = append(version.Young, run...)
		}
		p := testPicker()
		p.YoungRuns = 10
		got := outcome(p.Next(&version))
		if got != c.want {
			t.Errorf("runs of %v MB: %s, want %s", c.sizes, got, c.want)
		}
	}
}

func TestPick_joinsSmallTablesOfLikeSize(t *testing.T) {
	for _, c := range []struct {
		sizes []uint64 // of bottom tables, by key
		bad   Damaged
		want  string
	}{
		{[]uint64{1, 1, 1}, nil, "nothing"},
		{[]uint64{1, 1, 1, 1}, nil, "crumbs bottom [10 11 12 13] down"},
		{[]uint64{30, 1, 2, 1, 1, 30}, nil, "crumbs bottom [11 12 13 14] down"},
		{[]uint64{1, 1, 30, 1, 1}, nil, "nothing"},
		{[]uint64{7, 1, 1, 1}, nil, "nothing"},
		{[]uint64{7, 1, 1, 1, 1}, nil, "crumbs bottom [11 12 13 14] down"},
		{[]uint64{3, 1, 1, 1}, nil, "crumbs bottom [10 11 12 13] down"},
		{[]uint64{1, 1, 1, 1, 1}, Damaged{12: 2000}, "nothing"},
	} {
		version := manifest.Version{}
		for i, size := range c.sizes {
			key := fmt.Sprintf("k%d", i)
			table := tableOf(uint64(10+i), size*testMB, key, key)
			version.Bottom.Tables = append(version.Bottom.Tables, table)
		}
		p := testPicker()
		p.SmallTable, p.Damaged = 8*testMB, c.bad
		if got := outcome(p.Next(&version)); got != c.want {
			t.Errorf("tables of %v MB: %s, want %s", c.sizes, got, c.want)
		}
	}
}
