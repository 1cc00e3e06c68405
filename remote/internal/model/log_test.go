package model

import (
	"flag"
	"strings"
	"testing"
)

// large makes the tests explore larger worlds, for half a minute instead of a few seconds.
var large = flag.Bool("model.large", false, "explore larger worlds")

// all is a limit that no world of the tests reaches.
const all = 1 << 30

func TestLog_rulesHold(t *testing.T) {
	worlds := []LogWorld{
		{Numbers: 5, Writers: 2, Claims: 3, Reader: true, Window: 1},
		{Numbers: 5, Writers: 2, Claims: 2, Reader: true, Window: 2},
		{Numbers: 5, Writers: 2, Claims: 2, Reader: true, Window: 1, Barriers: 1},
		{Numbers: 5, Writers: 2, Claims: 2, Window: 2, Barriers: 1},
		{Numbers: 6, Writers: 3, Claims: 3, Window: 1, Barriers: 1, Past: true},
		{Numbers: 7, Writers: 3, Claims: 3, Window: 2, Barriers: 1, Past: true},
	}
	if *large {
		worlds = append(worlds,
			LogWorld{Numbers: 6, Writers: 2, Claims: 3, Reader: true, Window: 1},
			LogWorld{Numbers: 6, Writers: 3, Claims: 3, Window: 1},
			LogWorld{Numbers: 6, Writers: 2, Claims: 2, Reader: true, Window: 2},
			LogWorld{Numbers: 6, Writers: 2, Claims: 3, Window: 2},
			LogWorld{Numbers: 5, Writers: 2, Claims: 3, Reader: true, Window: 1, Barriers: 1},
			LogWorld{Numbers: 5, Writers: 2, Claims: 2, Reader: true, Window: 2, Barriers: 1},
			LogWorld{Numbers: 6, Writers: 2, Claims: 3, Reader: true, Window: 1, Barriers: 2},
			LogWorld{Numbers: 7, Writers: 2, Claims: 2, Window: 2, Barriers: 1},
			LogWorld{Numbers: 7, Writers: 2, Claims: 3, Window: 2, Barriers: 2},
			LogWorld{Numbers: 6, Writers: 3, Claims: 3, Reader: true, Window: 1, Barriers: 1, Past: true},
			LogWorld{Numbers: 7, Writers: 3, Claims: 4, Window: 1, Barriers: 1, Past: true},
			LogWorld{Numbers: 7, Writers: 3, Claims: 3, Window: 1, Barriers: 2, Past: true},
			LogWorld{Numbers: 7, Writers: 3, Claims: 4, Window: 2, Barriers: 2, Past: true},
		)
	}
	for _, w := range worlds {
		r := w.Explore(largest())
		if r.Violation != "" {
			t.Errorf("%+v: %v", w, r)
		}
		t.Logf("%+v: %v", w, r)
		t.Logf("trust: %d states of the model of a log", r.States)
	}
}

// largest is how many states the tests visit in a world.
func largest() int {
	if *large {
		return 1_500_000
	}
	return all
}

// A rule that could be broken without a consequence would not be needed, or not be tested.
func TestLog_rulesAreNeeded(t *testing.T) {
	const lost, stuck = "acknowledges a commit that does not count", "nobody can accept"
	for _, c := range []struct {
		rule      string
		world     LogWorld
		violation string
		deep      bool
	}{
		{"claims stay", LogWorld{
			Numbers: 6, Writers: 2, Claims: 3, Reader: true, Window: 1,
			Broken: LogRules{DeleteClaims: true},
		}, lost, false},
		{"look back", LogWorld{
			Numbers: 6, Writers: 2, Claims: 3, Reader: true, Window: 1,
			Broken: LogRules{NoLookBack: true},
		}, "takes itself for the writer", false},
		{"look back, by a reader", LogWorld{
			Numbers: 6, Writers: 2, Claims: 3, Reader: true, Window: 1,
			Broken: LogRules{ReaderNoLookBack: true},
		}, "the reader believes", false},
		{"chain", LogWorld{
			Numbers: 6, Writers: 3, Claims: 3, Window: 1,
			Broken: LogRules{NoChainCheck: true},
		}, "takes itself for the writer", false},
		{"order", LogWorld{
			Numbers: 6, Writers: 2, Claims: 3, Window: 2,
			Broken: LogRules{AckAnyOrder: true},
		}, lost, false},
		{"order, in the zone", LogWorld{
			Numbers: 6, Writers: 2, Claims: 3, Window: 2,
			Broken: LogRules{NoZone: true},
		}, lost, false},
		{"void objects stay", LogWorld{
			Numbers: 7, Writers: 2, Claims: 3, Window: 2,
			Broken: LogRules{DeleteVoid: true},
		}, lost, true},
		{"barrier, by a reader", LogWorld{
			Numbers: 5, Writers: 2, Claims: 2, Reader: true, Window: 1, Barriers: 1,
			Broken: LogRules{BarrierNoLook: true},
		}, "the reader believes", false},
		{"barrier, before the claim", LogWorld{
			Numbers: 6, Writers: 2, Claims: 2, Window: 2, Barriers: 1,
			Broken: LogRules{NoCalm: true},
		}, lost, false},
		{"barrier, of a claim that does not count", LogWorld{
			Numbers: 6, Writers: 3, Claims: 3, Window: 1, Barriers: 1, Past: true,
			Broken: LogRules{BarrierOfEpoch: true},
		}, stuck, false},
		{"tail", LogWorld{
			Numbers: 6, Writers: 3, Claims: 3, Window: 1,
			Broken: LogRules{DeleteTail: true},
		}, stuck, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if c.deep && !*large {
				t.Skip("found after half a million states")
			}
			r := c.world.Explore(5_000_000)
			if !strings.Contains(r.Violation, c.violation) || r.Violation == "" {
				t.Fatalf("%v, want one that %s", r, c.violation)
			}
			t.Log(r)
		})
	}
}
