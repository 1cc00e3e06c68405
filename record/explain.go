package record

import (
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
)

// Explain describes how the query finds its records, in a sentence or two: which index it uses or
// whether it reads everything, what it checks on each record, and whether it sorts in memory.
func (q Query[T]) Explain(tx *stoat.Tx) string { return q.core.explain(tx) }

func (q query) explain(tx *stoat.Tx) string {
	p, err := q.plan()
	if err != nil {
		return err.Error()
	}
	n, err := q.c.count(tx)
	if err != nil {
		return err.Error()
	}
	s, err := q.c.session(tx)
	if err == nil {
		err = q.hideExpired(s, &p)
	}
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Of %d records of %s, ", n, q.c.name)
	p.explain(&b)
	for i := range p.rest {
		if i == 0 {
			b.WriteString(" Of each it checks ")
		} else {
			b.WriteString(" and ")
		}
		b.WriteString(p.rest[i].String())
	}
	if len(p.rest) > 0 {
		b.WriteString(".")
	}
	if len(q.filters) > 0 {
		b.WriteString(" It decodes those, and calls a filter.")
	}
	q.explainOrder(&b, &p)
	return b.String()
}

// explain describes what the plan reads.
func (p *plan) explain(b *strings.Builder) {
	var conditions []string
	for i := range p.used {
		conditions = append(conditions, p.used[i].String())
	}
	where := strings.Join(conditions, " and ")
	switch {
	case p.index == nil && p.exact:
		fmt.Fprintf(b, "it gets %d by key (%s).", len(p.ranges), where)
	case p.index == nil && len(p.used) > 0:
		fmt.Fprintf(b, "it scans those in %s of keys (%s).", p.count(), where)
	case p.index == nil:
		b.WriteString("it scans all.")
	case p.exact:
		fmt.Fprintf(b, "it gets %d by the unique index %s (%s).", len(p.ranges),
			p.index.Name, where)
	case len(p.used) > 0:
		fmt.Fprintf(b, "it takes those in %s of the index %s (%s).", p.count(),
			p.index.Name, where)
	default:
		fmt.Fprintf(b, "it takes all in the order of the index %s.", p.index.Name)
	}
}

// count returns the number of ranges as text.
func (p *plan) count() string {
	if len(p.ranges) == 1 {
		return "a range"
	}
	return fmt.Sprintf("%d ranges", len(p.ranges))
}

// explainOrder describes how the query provides the order and the limit.
func (q *query) explainOrder(b *strings.Builder, p *plan) {
	limit := ""
	if q.limit > 0 {
		limit = fmt.Sprintf(" the first %d", q.top())
	}
	direction := ""
	if q.reverse {
		direction = ", descending"
	}
	switch {
	case q.order == nil:
	case p.sorted:
		fmt.Fprintf(b, " They come sorted by %s%s.", q.orderNames(), direction)
	case limit != "":
		fmt.Fprintf(b, " It keeps%s by %s%s in memory.", limit, q.orderNames(), direction)
	default:
		fmt.Fprintf(b, " It sorts by %s%s in memory.", q.orderNames(), direction)
	}
	if q.after != nil && q.after.key != nil {
		fmt.Fprintf(b, " It continues after the key %s.", formatKey(q.after.key))
	}
	if limit != "" && p.sorted {
		fmt.Fprintf(b, " It stops after%s.", limit)
	}
}
