package advise

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/bench/report"
)

// engineAdvice returns the advice about engines, one paragraph each. home is the engine that has
// the data now; it may be empty.
func engineAdvice(t table, home string) (said []string) {
	costs := t.costs()
	if len(costs) == 0 {
		return []string{"No engine could be measured completely."}
	}
	said = append(said, engineHeadline(costs))
	if others := othersDoBetter(t, costs[0].name); others != "" {
		said = append(said, others)
	}
	tied := ties(costs)
	for _, c := range costs {
		if report.Ours(c.name) && !slices.Contains(tied, c.name) {
			said = append(said, behind(t, c, costs[0].name))
		}
	}
	if stays := moving(t, costs, home); stays != "" {
		said = append(said, stays)
	}
	if f := failed(t.incomplete()); f != "" {
		said = append(said, f)
	}
	return said
}

// engineHeadline says which engine has the lowest overall cost.
func engineHeadline(costs []cost) string {
	best := quote(costs[0].name)
	if len(costs) == 1 {
		return fmt.Sprintf("Engine: only %s was measured completely, so nothing is compared.", best)
	}
	same := ties(costs)
	if len(same) > 1 {
		return fmt.Sprintf("Engine: %s cost the same overall, within %.0f %%.",
			list(quoteAll(same)), 100*noise)
	}
	return fmt.Sprintf("Engine: %s. Overall, the next one, %s, costs %s as much.", best,
		quote(costs[1].name), factor(costs[1].factor))
}

// ties returns the best engine and those that are indistinguishable from it.
func ties(costs []cost) (names []string) {
	for _, c := range costs {
		if c.factor < 1+noise {
			names = append(names, c.name)
		}
	}
	return names
}

// othersDoBetter says what other engines do better than this one.
func othersDoBetter(t table, name string) string {
	var parts []string
	for _, c := range t.columns {
		other, f := t.best(c.row)
		if own, ok := t.figure(name, c.row); !ok || !c.weighs || !f.below(own) {
			continue
		}
		parts = append(parts, quote(other)+" "+list(t.compare(other, name, c.row).better))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("What others do better than %s: ", quote(name)) + join(parts)
}

// behind says how far an engine is behind the best one.
func behind(t table, c cost, best string) string {
	text := fmt.Sprintf("%s costs %s as much as %s overall", quote(c.name), factor(c.factor),
		quote(best))
	if d := t.compare(c.name, best).all(); d != "" {
		text += ": it " + d
	}
	return text + "."
}

// moving says what would be gained by moving the data from the engine that has it.
func moving(t table, costs []cost, home string) string {
	at := slices.IndexFunc(costs, func(c cost) bool { return c.name == home })
	switch {
	case home == "" || at < 0 || len(costs) == 1:
		return ""
	case slices.Contains(ties(costs), home):
		return fmt.Sprintf("Your data is in %s: overall, no other engine is worth a move.",
			quote(home))
	}
	best := costs[0].name
	d := t.compare(best, home).all()
	if d == "" {
		return ""
	}
	return fmt.Sprintf("Your data is in %s: compared with that, %s %s.",
		quote(home), quote(best), d)
}
