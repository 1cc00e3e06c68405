package superversion

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Garbage is an estimate of how many bytes of tables, and of the values that they point to, are
// deleted by range deletions and bucket drops.
type Garbage struct {
	Young, Bottom uint64 // in young runs and in the bottom run
	Cut           uint64 // the size of the tables that are deleted in part
}

// manyCuts is how many deleted ranges are looked at in one table. Further ones do not count.
const manyCuts = 100

// Garbage estimates what the spans of newer and the young runs delete from the runs, and what
// belongs to dropped buckets. It opens the tables that are deleted in part and leaves out those
// that it cannot open. Once it is cancelled, it leaves out the rest.
func (l *Levels) Garbage(newer keyspace.Spans, cancelled func() bool) (g Garbage) {
	if len(newer)+len(l.Bottom.newer)+len(l.Version.Dropped) == 0 {
		return Garbage{}
	}
	for i := range l.Young {
		g.Young += l.garbage(&l.Young[i], newer, &g.Cut, cancelled)
	}
	g.Bottom = l.garbage(&l.Bottom, newer, &g.Cut, cancelled)
	return g
}

// garbage is Garbage for one run.
func (l *Levels) garbage(
	r *Run, newer keyspace.Spans, cut *uint64, cancelled func() bool,
) (n uint64) {
	if len(r.newer) > 0 {
		newer = newer.With(slices.Concat(r.newer...)...)
	}
	for _, h := range r.Tables {
		if cancelled() {
			break
		}
		spans := newer.Between(h.Meta.Smallest, h.Meta.Largest)
		if dropped := slices.Collect(l.Version.DroppedIn(h.Meta)); len(dropped) > 0 {
			spans = spans.With(dropped...)
		}
		if !spans.Meets(h.Meta.Smallest, h.Meta.Largest) {
			continue
		}
		deleted, all := h.garbage(spans)
		n += deleted
		if deleted < all {
			*cut += all
		}
	}
	return n
}

// BucketSpans returns where the contents of the buckets from first to last lie.
func BucketSpans(first, last uint64) (spans []keyspace.Span) {
	for _, r := range keyspace.Ranges(first, last) {
		spans = append(spans, keyspace.Span{Start: r[0], End: r[1]})
	}
	return spans
}

// garbage returns about how many bytes of the table, and of its values elsewhere, the spans delete,
// and the size of all.
func (h *Handle) garbage(spans keyspace.Spans) (deleted, all uint64) {
	t := h.Meta
	all = t.Size
	for _, share := range t.Values {
		all += share.Bytes
	}
	i, inside := spans.Find(t.Smallest)
	if inside && spans[i].Contains(t.Largest) {
		return all, all
	}
	_, blocks, err := h.Table.Blocks(t.Smallest, t.Largest)
	if err != nil || blocks == 0 {
		return 0, 0
	}
	halves := 0 // of blocks: blocks at the ends of a span count half, except at the table's ends
	for _, s := range spans[i:min(len(spans), i+manyCuts)] {
		if bytes.Compare(t.Largest, s.Start) < 0 {
			break
		}
		first, end, err := h.Table.Blocks(s.Start, s.End)
		if err != nil {
			return 0, 0
		}
		ends := 2
		if s.Contains(t.Smallest) {
			ends--
		}
		if s.Contains(t.Largest) {
			ends, end = ends-1, blocks
		}
		halves += max(1, 2*(end-first)-ends)
	}
	return all / uint64(2*blocks) * uint64(min(halves, 2*blocks)), all
}
