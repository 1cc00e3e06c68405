// Package compare tells whether one build is slower than another. It compares two reports of the
// same suites, row by row.
//
// The unit of observation is the round, because processes differ from each other by more than the
// samples within one. Each round is represented by its median. A row has changed if
//
//   - the Mann-Whitney U test of the rounds says so (two-sided, p below [Alpha]; the statistics are
//     those of golang.org/x/perf/benchmath),
//   - the medians differ by more than a share that matters ([Least]),
//   - and by more than the machine alone seems to change between two runs ([Comparison.Margin]).
//
// The test alone would raise false alarms in every large report, more often than Alpha says,
// because all rounds of a run share the state of the machine.
//
// Results with different settings say nothing about each other and are not judged.
package compare

import (
	"math"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

const (
	Alpha     = 0.01 // probability of a false alarm of a test
	Least     = 0.02 // relative change that is too small to matter
	MinRounds = 5    // with fewer in a report, no difference can reach Alpha
)

// Comparison is the result of comparing two reports.
type Comparison struct {
	Old, New         Side
	Least            float64 // relative change that matters
	Margin           float64 // change that only one in twenty rows of unchanged peers exceeded, or 0
	Notes            []string
	Pairs            []Pair // in the order of the old report
	OnlyOld, OnlyNew []Key
}

// Side is where and when a report was made.
type Side struct {
	Started time.Time
	Machine machine.Description
}

// Key identifies samples of a report.
type Key struct {
	Suite   string
	Storage string `json:",omitempty"`
	Sync    bool
	Engine  string
	suite.At
	Cold bool `json:",omitempty"` // only the first sample of each round
}

// Pair is a row that both reports have.
type Pair struct {
	Key
	Unit                 suite.Unit
	OldRounds, NewRounds int
	Old, New             float64 // medians of the rounds' medians
	Ratio                float64 // New/Old, or 0 if one of them is not positive
	P                    float64 // of the test, or 1 if there are too few rounds
	Verdict              Verdict
	Peer                 bool // the engine has the same version and settings in both reports
}

// Verdict says whether a row has changed.
type Verdict string

// The verdicts.
const (
	Worse   Verdict = "worse"
	Better  Verdict = "better"
	Same    Verdict = "no change"
	Unknown Verdict = "cannot tell" // too few rounds
)

// Compare compares two reports. The suites that find returns give the rows their units. A suite
// that find does not know, or that was not measured in the same way in both reports, is not
// compared, nor is an engine with other settings; notes say so.
func Compare(
	old, new *report.Report, find func(name string) (suite.Suite, error),
) *Comparison {
	c := &Comparison{Old: side(old), New: side(new)}
	if c.Old.Machine != c.New.Machine {
		c.Notes = append(c.Notes, "The machines differ, which may explain any change.")
	}
	apart, notes := unlike(old, new)
	before, unknown := collect(old, apart, find)
	after, alsoUnknown := collect(new, apart, find)
	changed, alsoNotes := otherSettings(old, new)
	for _, note := range slices.Concat(unknown, alsoUnknown, notes, alsoNotes) {
		if !slices.Contains(c.Notes, note) {
			c.Notes = append(c.Notes, note)
		}
	}
	peers := peersOf(old, new)
	for _, key := range before.order {
		a, b := before.rows[key], after.rows[key]
		if changed[source{key.Suite, key.Engine}] {
			continue
		}
		if b == nil {
			c.OnlyOld = append(c.OnlyOld, key)
			continue
		}
		p := measure(a.rounds(), b.rounds())
		p.Key, p.Unit = key, a.unit
		p.Peer = peers[source{key.Suite, key.Engine}]
		c.Pairs = append(c.Pairs, p)
	}
	for _, key := range after.order {
		if before.rows[key] == nil && !changed[source{key.Suite, key.Engine}] {
			c.OnlyNew = append(c.OnlyNew, key)
		}
	}
	c.Judge(Least)
	return c
}

func side(r *report.Report) Side { return Side{r.Started, r.Machine} }

// measure returns everything about a row except its key and verdict.
func measure(old, new [][]float64) Pair {
	before, after := medians(old), medians(new)
	p := Pair{
		OldRounds: len(old), NewRounds: len(new),
		Old: report.Median(before), New: report.Median(after),
		P: 1,
	}
	if p.Old > 0 && p.New > 0 {
		p.Ratio = p.New / p.Old
	}
	if p.enough() {
		p.P = significance(before, after)
	}
	return p
}

// medians returns the median of each round.
func medians(rounds [][]float64) []float64 {
	var m []float64
	for _, samples := range rounds {
		m = append(m, report.Median(samples))
	}
	return m
}

// enough reports whether both reports have enough rounds.
func (p Pair) enough() bool { return min(p.OldRounds, p.NewRounds) >= MinRounds }

// Effect returns by how much the larger median exceeds the smaller one.
func (p Pair) Effect() float64 {
	switch {
	case p.Old == p.New:
		return 0
	case p.Ratio == 0:
		return math.Inf(1)
	}
	return max(p.Ratio, 1/p.Ratio) - 1
}

// worse reports whether the new median is the worse one.
func (p Pair) worse() bool { return (p.New > p.Old) != (p.Unit == suite.PerSecond) }

// Judge sets each pair's verdict. Changes up to the share least do not count.
func (c *Comparison) Judge(least float64) {
	c.Least = least
	c.Margin = c.margin()
	for i := range c.Pairs {
		p := &c.Pairs[i]
		switch {
		case !p.enough():
			p.Verdict = Unknown
		case !p.exceeds(max(least, c.Margin)):
			p.Verdict = Same
		case p.worse():
			p.Verdict = Worse
		default:
			p.Verdict = Better
		}
	}
}

// judged returns the number of rows with a verdict other than [Unknown].
func (c *Comparison) judged() int { return len(c.Pairs) - len(c.with(Unknown)) }

// exceeds reports whether a row has changed by more than a share, judged by that row alone.
func (p Pair) exceeds(share float64) bool { return p.P < Alpha && p.Effect() > share }

// fewestPeers is the minimum number of rows of unchanged engines that say something about the
// machine.
const fewestPeers = 20

// peersBeyond is the share of the rows of unchanged engines that may exceed [Comparison.Margin].
const peersBeyond = 0.05

// margin returns the smallest change that only a share of [peersBeyond] of the unchanged engines'
// rows exceeds. The machine changed these rows, so it may have changed others by as much.
func (c *Comparison) margin() float64 {
	var rows int
	var effects []float64
	for _, p := range c.Pairs {
		if !p.Peer || !p.enough() {
			continue
		}
		rows++
		if effect := p.Effect(); p.exceeds(0) && !math.IsInf(effect, 1) {
			effects = append(effects, effect)
		}
	}
	allowed := int(peersBeyond * float64(rows))
	if rows < fewestPeers || len(effects) <= allowed {
		return 0
	}
	slices.Sort(effects)
	return effects[len(effects)-1-allowed]
}
