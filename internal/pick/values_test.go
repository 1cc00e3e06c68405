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

// files returns n value files with so many bytes, of which some are live.
func files(n int, size, live uint64) (all []valueFile) {
	for range n {
		all = append(all, valueFile{size: size, live: live})
	}
	return all
}

func TestPick_reclaimsInStepsUntilLittleIsLeft(t *testing.T) {
	p := testPicker()
	p.Garbage = 4 * testMB
	v := versionOf(files(10, 60*testMB, 20*testMB)...)
	if got := outcome(p.Next(v)); got != "reclaim bottom [1] files [2 3 4] down" {
		t.Errorf("%s", got)
	}
	v.Bottom.Tables[0].Size = 25 * testMB // the more tables are written, the more values are
	if got := outcome(p.Next(v)); got != "reclaim bottom [1] files [2 3 4 5 6] down" {
		t.Errorf("with large tables: %s", got)
	}
	p.PartBytes = testMB
	if got := outcome(p.Next(v)); got != "reclaim bottom [1] files [2] down" {
		t.Errorf("with a limit: %s", got)
	}
	p.PartBytes = 0
	for _, c := range []struct {
		garbage uint64 // MB of 600
		begun   string
		want    string
	}{
		{180, "", "nothing"},
		{180, "tidy", "nothing"},
		{180, "reclaim", "reclaim bottom [1] files [2] down"},
		{110, "reclaim", "nothing"},
	} {
		v := versionOf(append(files(1, c.garbage*testMB+testMB, testMB),
			files(1, 599*testMB, 599*testMB)...)...)
		p.Begun = c.begun
		if got := outcome(due(p.Next(v))); got != c.want {
			t.Errorf("%d MB of garbage, after %q: %s, want %s", c.garbage, c.begun, got, c.want)
		}
	}
}

func TestPick_bringsValuesIntoOrderInSteps(t *testing.T) {
	for _, c := range []struct {
		log, table uint64 // MB
		begun      string
		want       string
		most       uint64 // MB
	}{
		{1000, 1, "", "scattered bottom [1] files [3] down", 64},
		{1000, 20, "", "scattered bottom [1] files [3] down", 80},
		{90, 1, "", "scattered bottom [1] files [3] down", 90},
		{31, 1, "", "nothing", 0},
		{31, 1, "tidy", "nothing", 0},
		{31, 40, "scattered", "scattered bottom [1] files [3] down", 31},
	} {
		v := versionOf(valueFile{size: 1000 * testMB, live: 1000 * testMB},
			valueFile{size: c.log * testMB, live: c.log * testMB, log: true})
		v.Bottom.Tables[0].Size = c.table * testMB
		p := testPicker()
		p.Begun = c.begun
		next, ok := p.Next(v)
		if got := outcome(next, ok); got != c.want || next.MostValues != c.most*testMB {
			t.Errorf("%d MB, after %q: %s, %d bytes, want %s, %d MB", c.log, c.begun, got,
				next.MostValues, c.want, c.most)
		}
		if idle := c.begun != whyScattered; ok && next.Idle != idle {
			t.Errorf("after %q, a step waits for a pause: %v", c.begun, next.Idle)
		}
	}
}

// What a step leaves behind is garbage, and is not reclaimed before all values are in order.
func TestPick_bringsAllValuesIntoOrderBeforeItReclaims(t *testing.T) {
	v := versionOf(valueFile{size: 100 * testMB, live: 100 * testMB},
		valueFile{size: 1000 * testMB, live: 200 * testMB, log: true})
	for _, c := range []struct{ begun, want string }{
		{"", "reclaim bottom [1] files [3] down"},
		{whyReclaim, "reclaim bottom [1] files [3] down"},
		{whyScattered, "scattered bottom [1] files [3] down"},
	} {
		p := testPicker()
		p.Begun = c.begun
		if got := outcome(due(p.Next(v))); got != c.want {
			t.Errorf("after %q: %s, want %s", c.begun, got, c.want)
		}
	}
}
