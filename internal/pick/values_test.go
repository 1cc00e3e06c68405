package pick

import (
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
)

// valueFile is a file in a version, and how many bytes of it one bottom table points to.
type valueFile struct {
	size, live uint64
	log        bool
}

// versionOf returns a version whose only table points to live values in the files.
func versionOf(files ...valueFile) *manifest.Version {
	t := tableOf(1, testMB/100, "a", "z")
	v := &manifest.Version{Bottom: manifest.Run{Tables: []*manifest.Table{t}}}
	for i, f := range files {
		number := uint64(2 + i)
		v.ValueFiles = append(v.ValueFiles, manifest.ValueFile{
			Number: number, Size: f.size, Live: f.live, Log: f.log,
		})
		t.Values = append(t.Values, manifest.ValueShare{File: number, Count: 1, Bytes: f.live})
	}
	return v
}

func TestPick_bringsValuesIntoOrderInGrowingPortions(t *testing.T) {
	const order = "scattered bottom [1] files [3] down"
	for _, c := range []struct {
		ordered, log uint64 // MB
		want         string
	}{
		{0, 1, order},
		{3, 1, order},
		{8, 1, "nothing"},
		{90, 30, order},
		{100, 30, "nothing"},
		{1000, 31, "nothing"},
		{1000, 32, order},
	} {
		v := versionOf(
			valueFile{size: c.ordered * testMB, live: c.ordered * testMB},
			valueFile{size: c.log * testMB, live: c.log * testMB, log: true})
		if got := outcome(testPicker().Next(v)); got != c.want {
			t.Errorf("%d MB beside %d MB in order: %s, want %s", c.log, c.ordered, got, c.want)
		}
	}
}

func TestPick_toleratesGarbageInProportionToLiveValues(t *testing.T) {
	const reclaim = "reclaim bottom [1] files [2] down"
	for _, c := range []struct {
		live, garbage uint64 // MB
		busy, idle    string
	}{
		{1, 4, "nothing", "nothing"},
		{1, 6, reclaim, reclaim},
		{20, 10, "nothing", "nothing"},
		{20, 12, "nothing", reclaim},
		{20, 25, reclaim, reclaim},
		{1000, 350, "nothing", "nothing"},
		{1000, 360, "nothing", reclaim},
	} {
		p := testPicker()
		p.Garbage = 4 * testMB
		v := versionOf(valueFile{size: (c.live + c.garbage) * testMB, live: c.live * testMB})
		if got := outcome(due(p.Next(v))); got != c.busy {
			t.Errorf("%d MB and %d of garbage, while busy: %s, want %s", c.live, c.garbage, got,
				c.busy)
		}
		if got := outcome(p.Next(v)); got != c.idle {
			t.Errorf("%d MB and %d of garbage, when idle: %s, want %s", c.live, c.garbage, got,
				c.idle)
		}
	}
}

func TestPick_rewritesNoGoodFileForGarbageThatYoungRunsHold(t *testing.T) {
	v := versionOf(valueFile{size: 20 * testMB, live: 20*testMB - 1},
		valueFile{size: 60 * testMB, live: testMB, log: true})
	held := &v.Bottom.Tables[0].Values
	young := tableOf(4, testMB/100, "b", "c")
	young.Values, *held = (*held)[1:], (*held)[:1]
	v.Young = runsOf(young)
	p := testPicker()
	p.Garbage = 4 * testMB
	if got := outcome(p.reclaim(v, garbageBusy)); got != "nothing" {
		t.Errorf("%s", got)
	}
	v.ValueFiles[0].Live, (*held)[0].Bytes = 16*testMB, 16*testMB
	if got := outcome(p.reclaim(v, garbageBusy)); got != " bottom [1] files [2] down" {
		t.Errorf("a file with a fifth of garbage: %s", got)
	}
}
