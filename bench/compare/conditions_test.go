package compare

import (
	"testing"

	"github.com/stoatdb/stoat/bench/report"
)

func TestCompare_notesOtherSettings(t *testing.T) {
	old, new := newReport(), newReport()
	old.Results[0].Settings.Profile, new.Results[0].Settings.Profile = "quick", "full"
	want := "Suite test is not compared: its profile was quick and is now full."
	add(old, "ours", "row1", 1, 2, 3, 4)
	add(new, "ours", "row1", 10, 20, 30, 40)
	c := Compare(old, new, find)
	if len(c.Notes) != 1 || c.Notes[0] != want {
		t.Errorf("notes %q", c.Notes)
	}
	if len(c.Pairs)+len(c.OnlyOld)+len(c.OnlyNew) > 0 {
		t.Errorf("rows of it are judged: %+v", c)
	}
}

func TestCompare_leavesOutEnginesWithOtherSettings(t *testing.T) {
	old, new := newReport(), newReport()
	old.Results[0].Engines = []report.Engine{{Name: "ours", Settings: "none"}, {Name: "peer"}}
	new.Results[0].Engines = []report.Engine{{Name: "ours", Settings: "some"}, {Name: "peer"}}
	for _, name := range []string{"ours", "peer"} {
		add(old, name, "row1", 1, 2, 3, 4)
		add(new, name, "row1", 10, 20, 30, 40)
		add(new, name, "row2", 10, 20, 30, 40)
	}
	c := Compare(old, new, find)
	want := "ours is not compared in suite test: its settings differ."
	if len(c.Notes) != 1 || c.Notes[0] != want {
		t.Errorf("notes %q", c.Notes)
	}
	if len(c.Pairs) != 1 || c.Pairs[0].Engine != "peer" || len(c.OnlyNew) != 1 {
		t.Errorf("judged %+v, only new %+v", c.Pairs, c.OnlyNew)
	}
}

func TestPeersOf_areThoseWithTheSameSettingsInASuite(t *testing.T) {
	newReport := func(items string) *report.Report {
		r := report.New()
		for suite, settings := range map[string]string{"ssb": "-", "items": items} {
			r.Results = append(r.Results, &report.Result{Suite: suite, Engines: []report.Engine{
				{Name: "peer", Version: "v1.2.3", Settings: settings},
				{Name: "ours", Version: "this source tree"},
			}})
		}
		return r
	}
	peers := peersOf(newReport("journal"), newReport("journal"))
	if !peers[source{"ssb", "peer"}] || !peers[source{"items", "peer"}] {
		t.Errorf("other settings in another suite: %v", peers)
	}
	peers = peersOf(newReport("journal"), newReport("none"))
	if !peers[source{"ssb", "peer"}] || peers[source{"items", "peer"}] {
		t.Errorf("other settings in one suite: %v", peers)
	}
	if peers[source{"ssb", "ours"}] {
		t.Errorf("an engine of the source tree: %v", peers)
	}
}
