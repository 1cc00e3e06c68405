package engine

import (
	"fmt"
	"slices"
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

// outcome describes what pick decided, in one line.
func outcome(in inputs, ok bool) string {
	if !ok {
		return "nothing"
	}
	var numbers []uint64
	for _, t := range in.bottom {
		numbers = append(numbers, t.Number)
	}
	return fmt.Sprintf("young %d bottom %v", in.young, numbers)
}

func TestPick_decides(t *testing.T) {
	bottom := manifest.Run{Tables: []*manifest.Table{
		tableOf(1, 1000, "a", "c"), tableOf(2, 1000, "d", "f"), tableOf(3, 1000, "x", "z"),
	}}
	small := func(n int) []manifest.Run {
		var tables []*manifest.Table
		for i := range n {
			tables = append(tables, tableOf(uint64(10+i), 1, "e", "g"))
		}
		return runsOf(tables...)
	}
	for _, c := range []struct {
		name    string
		version manifest.Version
		busy    string // what is due although commits come in
		idle    string // what is tidied when none do
	}{
		{"an empty database", manifest.Version{}, "nothing", "nothing"},
		{"one run", manifest.Version{Bottom: bottom}, "nothing", "nothing"},
		{"few young runs", manifest.Version{Young: small(2), Bottom: bottom},
			"nothing", "young 2 bottom [2]"},
		{"young runs that are small beside what they overlap",
			manifest.Version{Young: small(5), Bottom: bottom}, "nothing", "young 5 bottom [2]"},
		{"young runs that slow reads down",
			manifest.Version{Young: small(12), Bottom: bottom},
			"young 12 bottom [2]", "young 12 bottom [2]"},
		{"young runs of a quarter of the bottom run",
			manifest.Version{Young: runsOf(
				tableOf(10, 300, "g", "h"), tableOf(11, 300, "b", "c"),
				tableOf(12, 300, "g", "h"), tableOf(13, 300, "g", "h")), Bottom: bottom},
			"young 4 bottom [1 2]", "young 4 bottom [1 2]"},
		{"a gap that the merge may fill",
			manifest.Version{
				Young:  runsOf(tableOf(10, 1, "b", "b"), tableOf(11, 1, "y", "y")),
				Bottom: bottom,
			},
			"nothing", "young 2 bottom [1 2 3]"},
		{"a dropped bucket that a table may hold",
			manifest.Version{Bottom: bottom, DropEpoch: 1,
				Dropped: []manifest.Drop{{First: 0, Last: 0, Epoch: 1}}},
			"nothing", "young 0 bottom [1]"},
		{"a dropped bucket that no table can hold",
			manifest.Version{Bottom: bottom, DropEpoch: 1,
				Dropped: []manifest.Drop{{First: 7, Last: 9, Epoch: 1}}},
			"nothing", "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(pick(&c.version, 4, false)); got != c.busy {
				t.Errorf("while busy: %s, want %s", got, c.busy)
			}
			if got := outcome(pick(&c.version, 4, true)); got != c.idle {
				t.Errorf("when idle: %s, want %s", got, c.idle)
			}
		})
	}
}

func TestPick_takesEveryBottomTableThatItsOutputMayTouch(t *testing.T) {
	version := manifest.Version{Young: runsOf(tableOf(9, 1, "c", "x"))}
	for i, edge := range []string{"a", "b", "c", "d", "w", "x", "y"} {
		version.Bottom.Tables = append(version.Bottom.Tables, tableOf(uint64(i), 1, edge, edge))
	}
	in, _ := pick(&version, 4, true)
	var numbers []uint64
	for _, t := range in.bottom {
		numbers = append(numbers, t.Number)
	}
	if want := []uint64{2, 3, 4, 5}; !slices.Equal(numbers, want) {
		t.Errorf("picked bottom tables %v, want %v", numbers, want)
	}
}

func TestPick_leavesTheDataBetweenCatalogAndDataAlone(t *testing.T) {
	catalog := func(number uint64) *manifest.Table {
		key := keyspace.AppendCatalog(nil, 1)
		return &manifest.Table{Number: number, Size: 1, Entries: 1, Smallest: key, Largest: key}
	}
	version := manifest.Version{
		Young: []manifest.Run{{Tables: []*manifest.Table{
			catalog(8), tableOf(9, 1, "x", "z"),
		}}},
		Bottom: manifest.Run{Tables: []*manifest.Table{
			catalog(1), tableOf(2, 1, "a", "m"), tableOf(3, 1, "n", "y"),
		}},
	}
	if got := outcome(pick(&version, 4, true)); got != "young 1 bottom [1 3]" {
		t.Errorf("picked %s", got)
	}
}
