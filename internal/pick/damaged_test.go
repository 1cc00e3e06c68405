package pick

import (
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
)

func TestPick_leavesWhatIsDamagedForLast(t *testing.T) {
	stale := func(number uint64, first, last string) *manifest.Table {
		table := tableOf(number, testMB, first, last)
		table.StaleAt = 500
		return table
	}
	bottom := manifest.Run{Tables: []*manifest.Table{stale(1, "a", "c"), stale(2, "d", "f")}}
	many := func(n int) (tables []*manifest.Table) {
		for i := range n {
			tables = append(tables, tableOf(uint64(10+i), testMB, "b", "e"))
		}
		return tables
	}
	for _, c := range []struct {
		name    string
		version manifest.Version
		damaged Damaged
		want    string
	}{
		{"nothing", manifest.Version{Bottom: bottom}, nil, "stale bottom [1] down"},
		{"the first", manifest.Version{Bottom: bottom}, Damaged{1: 2000},
			"stale bottom [2] down"},
		{"the first, to be tried again", manifest.Version{Bottom: bottom}, Damaged{1: 1000},
			"stale bottom [2] down"},
		{"all", manifest.Version{Bottom: bottom}, Damaged{1: 2000, 2: 2000}, "nothing"},
		{"all, one to be tried again", manifest.Version{Bottom: bottom}, Damaged{1: 1000, 2: 2000},
			"stale bottom [1] down"},
		{"what many young runs overlap",
			manifest.Version{Young: runsOf(many(12)...), Bottom: manifest.Run{
				Tables: []*manifest.Table{tableOf(1, testMB/2, "a", "z")}}},
			Damaged{1: 2000}, "crowded young 0..11"},
		{"one of many young runs",
			manifest.Version{Young: runsOf(many(12)...), Bottom: manifest.Run{
				Tables: []*manifest.Table{tableOf(1, testMB/2, "a", "z")}}},
			Damaged{14: 2000}, "crowded young 0..6"},
	} {
		p := testPicker()
		p.Damaged = c.damaged
		if got := outcome(due(p.Next(&c.version))); got != c.want {
			t.Errorf("%s is damaged: picked %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPick_compactsFewRunsBetweenDamagedOnes(t *testing.T) {
	bad := Damaged{1: 2000}
	var tables []*manifest.Table
	for i := range 25 {
		tables = append(tables, tableOf(uint64(10+i), testMB, "b", "e"))
		if i%3 == 2 {
			bad[uint64(10+i)] = 2000
		}
	}
	bottom := manifest.Run{Tables: []*manifest.Table{tableOf(1, 100*testMB, "a", "z")}}
	for n, want := range map[int]string{24: "nothing", 25: "crowded young 23..24"} {
		version := manifest.Version{Young: runsOf(tables[:n]...), Bottom: bottom}
		p := testPicker()
		p.Damaged = bad
		if got := outcome(due(p.Next(&version))); got != want {
			t.Errorf("of %d young runs: picked %s, want %s", n, got, want)
		}
	}
}
