package advise

import "fmt"

// Names of the layouts that the advice describes individually.
const (
	layoutBinary = "binary"
	layoutNamed  = "binary+names"
	layoutJSON   = "json"
	layoutGob    = "gob"
	layoutPairs  = "multikv"
	layoutNested = "nested"
)

// goodEnough is the maximum cost, relative to the best layout, at which JSON is still advised.
const goodEnough = 1.2

// badEnough is the minimum cost, relative to the advised layout, that deserves a warning.
const badEnough = 2

// layoutAdvice is the advice about layouts on one engine.
type layoutAdvice struct {
	table
	costs  []cost
	best   string // has the lowest overall cost
	chosen string // is advised
}

// newLayoutAdvice returns the advice that follows from a table, if anything was measured.
func newLayoutAdvice(t table) (a layoutAdvice, ok bool) {
	a = layoutAdvice{table: t, costs: t.costs()}
	if len(a.costs) == 0 {
		return a, false
	}
	a.best = a.costs[0].name
	for _, c := range t.Candidates { // the first of equals, so chance does not choose
		if factor := a.cost(c.Name); a.chosen == "" && factor > 0 && factor < 1+noise {
			a.chosen = c.Name
		}
	}
	if c := a.cost(layoutJSON); c > 0 && c <= goodEnough {
		a.chosen = layoutJSON
	}
	return a, true
}

// cost returns a layout's overall cost, relative to the best; 0 if it was not measured.
func (a layoutAdvice) cost(name string) float64 {
	for _, c := range a.costs {
		if c.name == name {
			return c.factor
		}
	}
	return 0
}

// all returns the advice, one paragraph each.
func (a layoutAdvice) all() []string {
	said := []string{a.headline()}
	for _, more := range []string{
		a.names(),
		a.single(rowSum, "mostly add up or filter single fields"),
		a.single(rowUpdate, "mostly change single fields"),
		a.transactions(),
		a.warning(),
		a.failed(),
	} {
		if more != "" {
			said = append(said, more)
		}
	}
	return said
}

// manner says how a layout stores a record.
func manner(layout string) string {
	switch layout {
	case layoutBinary:
		return "as one binary value"
	case layoutNamed:
		return "as one binary value with the names of its fields"
	case layoutJSON:
		return "as JSON"
	case layoutGob:
		return "by encoding/gob"
	case layoutPairs:
		return "as a pair for each field"
	case layoutNested:
		return "as a bucket with a pair for each field"
	}
	return "otherwise"
}

// headline says which layout is advised, and why.
func (a layoutAdvice) headline() string {
	text := fmt.Sprintf("Store each record %s (%s)", manner(a.chosen), quote(a.chosen))
	switch {
	case len(a.costs) == 1:
		return text + ": nothing else was measured completely."
	case a.chosen == layoutJSON && a.best != layoutJSON:
		text += fmt.Sprintf(", which people and programs can read: overall it costs %s as much "+
			"as the best, %s, and up to %.1f × is good enough.", factor(a.cost(layoutJSON)),
			quote(a.best), goodEnough)
		if d := a.compare(a.best, layoutJSON); len(d.better) > 0 {
			text += fmt.Sprintf(" But %s %s.", quote(a.best), list(d.better))
		}
		return text
	}
	other, name := a.rival()
	if d := a.compare(a.chosen, other).all(); d != "" {
		text += fmt.Sprintf(": compared with %s, it %s", name, d)
	}
	return text + "." + a.ties()
}

// rival returns what to compare the chosen layout with, and its name in a sentence: JSON, or the
// best of the others. There must be one.
func (a layoutAdvice) rival() (layout, name string) {
	if a.chosen != layoutJSON && a.cost(layoutJSON) > 0 {
		return layoutJSON, "JSON"
	}
	layout = a.costs[0].name
	if layout == a.chosen {
		layout = a.costs[1].name
	}
	return layout, quote(layout)
}

// ties says which layouts are as good as the chosen one.
func (a layoutAdvice) ties() string {
	var same []string
	for _, c := range a.costs {
		if c.name != a.chosen && c.factor < 1+noise {
			same = append(same, quote(c.name))
		}
	}
	switch len(same) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" Overall, %s costs the same within %.0f %%.", same[0], 100*noise)
	}
	return fmt.Sprintf(" Overall, %s cost the same within %.0f %%.", list(same), 100*noise)
}

// names says what it costs to store the field names with the data.
func (a layoutAdvice) names() string {
	var parts []string
	for _, name := range []string{layoutNamed, layoutJSON} {
		if a.cost(name) == 0 || a.chosen == layoutJSON || name == a.chosen {
			continue
		}
		costs := list(a.compare(name, a.chosen).worse)
		if much := a.cost(name) / a.cost(a.chosen); costs == "" && much < 1+noise {
			costs = "costs nothing more"
		} else if costs == "" {
			costs = "costs " + factor(much) + " as much overall"
		}
		parts = append(parts, quote(name)+" "+costs)
	}
	switch {
	case len(parts) == 0:
		return ""
	case a.chosen == layoutBinary:
		return "If the field names must stay with the data: " + join(parts)
	}
	return "If other programs must be able to read the values: " + join(parts)
}

// join joins clauses that contain commas.
func join(parts []string) (text string) {
	for i, part := range parts {
		if i > 0 {
			text += "; "
		}
		text += part
	}
	return text + "."
}

// single says which layout is best for a single need, if it is not the chosen one.
func (a layoutAdvice) single(row, need string) string {
	name, f := a.table.best(row)
	chosen, ok := a.figure(a.chosen, row)
	if !ok || name == a.chosen || !f.below(chosen) {
		return ""
	}
	text := fmt.Sprintf("If you %s: compared with %s, %s %s", need, quote(a.chosen), quote(name),
		list(a.compare(name, a.chosen, row).better))
	if rest := a.compare(name, a.chosen); len(rest.worse) > 0 {
		text += ", but " + list(rest.worse)
	}
	return text + "."
}

// transactions says what one transaction per record costs.
func (a layoutAdvice) transactions() string {
	bulk, okBulk := a.figure(a.chosen, rowBulk)
	single, okSingle := a.figure(a.chosen, rowSingle)
	if !okBulk || !okSingle || !bulk.below(single) {
		return ""
	}
	return fmt.Sprintf("Write many records in one transaction where you can: a record takes %s in "+
		"one transaction for all, and %s in its own.", duration(bulk.Median), duration(single.Median))
}

// warning says which layout costs most, if it costs much more.
func (a layoutAdvice) warning() string {
	last := a.costs[len(a.costs)-1]
	much := last.factor / a.cost(a.chosen)
	if much < badEnough {
		return ""
	}
	return fmt.Sprintf("Avoid %s: overall it costs %s as much as %s.", quote(last.name),
		factor(much),
		quote(a.chosen))
}

// failed says which layouts are not compared.
func (a layoutAdvice) failed() string { return failed(a.incomplete()) }

func failed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Not compared, because not measured completely: %s.",
		list(quoteAll(names)))
}

// elsewhere says what is best on another engine.
func (a layoutAdvice) elsewhere(b layoutAdvice) string {
	if a.chosen == b.chosen {
		return fmt.Sprintf("On %s the same layout is best.", quote(b.Engine))
	}
	if d := b.compare(b.chosen, a.chosen).all(); d != "" {
		return fmt.Sprintf("On %s it is %s, which there %s.", quote(b.Engine), quote(b.chosen), d)
	}
	return fmt.Sprintf("On %s it is %s, by a small margin.", quote(b.Engine), quote(b.chosen))
}
