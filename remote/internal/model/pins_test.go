package model

import (
	"strings"
	"testing"
)

func TestPins_rulesHold(t *testing.T) {
	worlds := []PinWorld{{Numbers: 4, Pins: 1}}
	if *large {
		worlds = append(worlds, PinWorld{Numbers: 4, Pins: 2}, PinWorld{Numbers: 5, Pins: 2})
	}
	for _, w := range worlds {
		r := w.Explore(largest())
		if r.Violation != "" {
			t.Errorf("%+v: %v", w, r)
		}
		t.Logf("%+v: %v", w, r)
		t.Logf("trust: %d states of the model of pins", r.States)
	}
}

func TestPins_rulesAreNeeded(t *testing.T) {
	const trusts = "the reader trusts its pin"
	for _, c := range []struct {
		rule      string
		broken    PinRules
		violation string
	}{
		{"list the pins after the bound", PinRules{ListFirst: true}, "which the pin of"},
		{"create a bound", PinRules{NoBound: true}, trusts},
		{"read the bound after creating a pin", PinRules{NoBoundGet: true}, trusts},
		{"read until there is no newer state", PinRules{LookOnce: true}, trusts},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := PinWorld{Numbers: 4, Pins: 1, Broken: c.broken}.Explore(all)
			if !strings.Contains(r.Violation, c.violation) || r.Violation == "" {
				t.Fatalf("%v, want one that %s", r, c.violation)
			}
			t.Log(r)
		})
	}
}
