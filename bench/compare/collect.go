package compare

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// samples are all samples of a row in a report, by round.
type samples struct {
	unit    suite.Unit
	numbers []int
	values  [][]float64
}

// add adds samples of a round.
func (s *samples) add(round int, values []float64) {
	for i, number := range s.numbers {
		if number == round {
			s.values[i] = append(s.values[i], values...)
			return
		}
	}
	s.numbers = append(s.numbers, round)
	s.values = append(s.values, append([]float64(nil), values...))
}

func (s *samples) rounds() [][]float64 { return s.values }

// collection is the contents of a report, in its order.
type collection struct {
	order []Key
	rows  map[Key]*samples
}

func (c *collection) add(key Key, unit suite.Unit, round int, values []float64) {
	s := c.rows[key]
	if s == nil {
		s = &samples{unit: unit}
		c.rows[key] = s
		c.order = append(c.order, key)
	}
	s.add(round, values)
}

// collect returns the samples of a report, except for the results to leave out, and notes on the
// suites that find does not know.
func collect(
	r *report.Report, leave map[conditions]bool, find func(name string) (suite.Suite, error),
) (c collection, notes []string) {
	c.rows = make(map[Key]*samples)
	for _, result := range r.Results {
		if leave[conditionsOf(result)] {
			continue
		}
		s, err := find(result.Suite)
		if err != nil {
			notes = append(notes, fmt.Sprintf("Suite %s is not compared: %v.", result.Suite, err))
			continue
		}
		for _, m := range result.Measurements {
			row, ok := s.Row(m.Row)
			if !ok || len(m.Values) == 0 || row.Axis == report.TimeAxis {
				continue // no two runs have samples at the same times
			}
			key := Key{
				Suite: result.Suite, Storage: result.Settings.Storage, Sync: result.Settings.Sync,
				Engine: m.Engine, At: m.At,
			}
			c.add(key, row.Unit, m.Round, m.Values)
			if row.Cold != "" && row.Cold == m.State {
				key.Cold = true
				c.add(key, row.Unit, m.Round, m.Values[:1])
			}
		}
	}
	return c, notes
}
