package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// difference says in which columns, and how, a candidate differs from another one.
type difference struct{ better, worse []string }

// compare returns the difference in the columns of these rows, by default in those that weigh.
func (t table) compare(name, other string, rows ...string) (d difference) {
	for _, c := range t.columns {
		told := c.weighs
		if len(rows) > 0 {
			told = slices.Contains(rows, c.row)
		}
		if !told {
			continue
		}
		a, okA := t.figure(name, c.row)
		b, okB := t.figure(other, c.row)
		switch {
		case !okA || !okB || a.Median <= 0 || b.Median <= 0:
		case a.below(b):
			d.better = append(d.better, c.clause(a.Median/b.Median))
		case b.below(a):
			d.worse = append(d.worse, c.clause(a.Median/b.Median))
		}
	}
	return d
}

// all returns the better parts, then the worse ones.
func (d difference) all() string {
	switch {
	case len(d.better) == 0:
		return list(d.worse)
	case len(d.worse) == 0:
		return list(d.better)
	}
	return list(d.better) + ", but " + list(d.worse)
}

// clause says how much a candidate needs compared with another one.
func (c column) clause(ratio float64) string {
	switch {
	case c.verb == "" && ratio < 1:
		return "takes " + percent(ratio) + " of the space"
	case c.verb == "":
		return "takes " + factor(ratio) + " the space"
	case ratio < 1:
		return c.verb + " " + factor(1/ratio) + " as fast"
	}
	return c.verb + " in " + factor(ratio) + " the time"
}

// factor returns a multiple as text.
func factor(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f ×", v)
	}
	return fmt.Sprintf("%.0f ×", v)
}

func percent(share float64) string {
	if share < 0.01 {
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// duration returns nanoseconds with their unit.
func duration(ns float64) string {
	number, unit := report.Scale(ns, suite.Nanoseconds)
	return number + " " + unit
}

// list joins words as in a sentence.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// quote marks a name.
func quote(name string) string { return "`" + name + "`" }

func quoteAll(names []string) []string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, quote(name))
	}
	return quoted
}
