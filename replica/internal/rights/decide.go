package rights

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// extent says which entries a grant covers.
type extent struct {
	holds bool
	ended bool                  // it is revoked
	ends  map[entry.Hash]uint64 // if so: the number of entries of a log that count; else none
}

func (x *extent) equal(y *extent) bool {
	return x.holds == y.holds && x.ended == y.ended && maps.Equal(x.ends, y.ends)
}

// end returns the number of the entry of a log from which on the grant covers nothing.
func (x *extent) end(log entry.Hash) uint64 {
	switch {
	case !x.holds:
		return 0
	case !x.ended:
		return Never
	}
	return x.ends[log]
}

// Change is a grant about which was decided again.
type Change struct {
	Grant  *Grant
	before extent
}

// Entries returns the entries of a log about which the grant says something else than before: from
// one number up to another one. First is the first entry that has seen the grant.
func (c *Change) Entries(log entry.Hash, first uint64) (from, to uint64) {
	before, after := c.before.end(log), c.Grant.end(log)
	return max(first, min(before, after)), max(before, after)
}

// Moved reports whether there may be such entries.
func (c *Change) Moved() bool { return !c.before.equal(&c.Grant.extent) }

// Since returns the grants that cover other entries than in an earlier tree of the space, or of
// which another revocation counts, although others end them in the same place.
func (t *Tree) Since(before *Tree) (changes []Change) {
	for at, g := range t.grants.all() {
		c := Change{Grant: g}
		if old := before.grants.get(at); old != nil {
			c.before = old.extent
		}
		if c.Moved() || t.revokesOtherwise(g, before) {
			changes = append(changes, c)
		}
	}
	return changes
}

// revokesOtherwise reports whether other revocations of a grant count than in an earlier tree.
func (t *Tree) revokesOtherwise(g *Grant, before *Tree) bool {
	old := before.grants.get(g.At)
	for i, f := range t.revokes.get(g.At).items {
		r := before.revocations.get(f.At)
		counted := r.Fact != nil && old.ending(r.number) == nil
		if counted != (g.ending(i) == nil) {
			return true
		}
	}
	return false
}

// ending returns why a revocation of the grant, which may be unknown, has no effect, or nil.
func (g *Grant) ending(number int) error {
	if g == nil {
		return errUndecided
	}
	return g.vain[number]
}

// decide decides about a grant, if it is known, and everything below it, and appends them.
func (t *Tree) decide(at entry.Head, past Past, decided []Change) []Change {
	g := t.own(at)
	if g == nil {
		return decided
	}
	decided = append(decided, Change{g, g.extent})
	g.why = t.authority(g.Fact, t.parent(g), past)
	g.extent = extent{holds: g.why == nil}
	g.vain = nil
	for _, r := range t.revokes.get(at).items {
		why := t.mayRevoke(r, g, past)
		g.vain = append(g.vain, why)
		if why == nil && g.holds {
			t.end(g, r, past)
		}
	}
	for _, child := range g.children.items {
		decided = t.decide(child, past, decided)
	}
	return decided
}

// Why an act has no effect now.
var (
	errUndecided = errors.New("it is not decided yet")
	errCut       = errors.New("its log is cut before it")
	errNotAbove  = errors.New("the grant that it is made under is not above the one that it ends")
	errNotEnough = errors.New("not enough roots have endorsed it")
)

// authority returns why an act has no effect, or nil.
func (t *Tree) authority(f *Fact, parent *Grant, past Past) error {
	switch {
	case past.Cut(f.At.Log) <= f.At.Seq:
		return errCut
	case parent != nil:
		return parent.covers(f.At, past)
	}
	consent := map[[32]byte]bool{f.Device: true}
	for _, e := range t.endorsed.get(f.At).items {
		if e.Act.Endorse.Hash == f.Hash && past.Cut(e.At.Log) > e.At.Seq {
			consent[e.Device] = true
		}
	}
	if len(consent) < t.quorum {
		return fmt.Errorf("%d of %d roots: %w", len(consent), t.quorum, errNotEnough)
	}
	return nil
}

// covers returns why a grant, which is made to the device of a log, does not cover an entry of it,
// or nil.
func (g *Grant) covers(at entry.Head, past Past) error {
	if g.why != nil {
		return fmt.Errorf("the grant %s/%d does not hold: %w", g.At.Log, g.At.Seq, g.why)
	}
	if first, ok := past.First(at.Log, g.At); !ok || first > at.Seq {
		return errNotSeen
	}
	if end := g.end(at.Log); end <= at.Seq {
		return fmt.Errorf("the grant %s/%d was revoked: of this log, %d entries count", g.At.Log,
			g.At.Seq, end)
	}
	return nil
}

// mayRevoke returns why a revocation has no effect on its grant, or nil.
func (t *Tree) mayRevoke(r *Fact, g *Grant, past Past) error {
	under := r.Act.Revoke.Under
	if under == nil {
		return t.authority(r, nil, past)
	}
	for above := t.parent(g); above != nil; above = t.parent(above) {
		if above.At == *under {
			return t.authority(r, above, past)
		}
	}
	return errNotAbove
}

// end ends a grant where a revocation says so.
func (t *Tree) end(g *Grant, r *Fact, past Past) {
	ends := map[entry.Hash]uint64{}
	for i := range r.Act.Revoke.Last {
		last := &r.Act.Revoke.Last[i]
		if last.Seq < past.Cut(last.Log) {
			hash, known := past.Hash(last.Head)
			if known && hash != last.Hash {
				continue // it names another branch
			}
			if !known {
				t.awaited.set(t.edit, last.Head, true)
			}
		}
		if end, ok := g.ends[last.Log]; !g.ended || ok {
			if !g.ended {
				end = Never
			}
			ends[last.Log] = min(end, min(last.Seq, Never-1)+1)
		}
	}
	g.ended, g.ends = true, ends
}

// Allows returns why a device may not make the changes of a part of an entry of its log, or
// nil. It does not look at cuts, and for content that is withheld only at the collection.
func (t *Tree) Allows(device [32]byte, at entry.Head, part *entry.Part, past Past) error {
	if t.IsRoot(device) || part.Withheld == nil && entry.IsSalt(part.Data) {
		return nil
	}
	why := errors.New("it has no grant to write there")
	var areas []*entry.Area
	for g := range t.To(device) {
		if g.Act.Grant.Right.Level() < entry.RightWrite {
			continue
		}
		if err := g.covers(at, past); err != nil {
			why = err
			continue
		}
		if len(g.Act.Grant.Scope) == 0 {
			return nil
		}
		for i := range g.Act.Grant.Scope {
			a := &g.Act.Grant.Scope[i]
			if a.Collection == "" || a.Collection == part.Group {
				areas = append(areas, a)
			}
		}
	}
	if len(areas) == 0 {
		return why
	}
	if part.Withheld != nil || slices.ContainsFunc(areas, unlimited) {
		return nil
	}
	changes, err := entry.ParseChanges(part.Data)
	if err == nil {
		err = covers(areas, &device, changes)
	}
	if err != nil {
		return fmt.Errorf("its grants do not permit to change %w", err)
	}
	return nil
}

// Holds reports whether a device has a right, with all its flags, at an entry of its log.
func (t *Tree) Holds(device [32]byte, at entry.Head, right entry.Right, past Past) bool {
	return t.IsRoot(device) || t.Granted(device, at, right, past)
}

// Granted reports whether a device has a right as Holds does, by a grant.
func (t *Tree) Granted(device [32]byte, at entry.Head, right entry.Right, past Past) bool {
	for g := range t.To(device) {
		if includes(g.Act.Grant.Right, right) && g.covers(at, past) == nil {
			return true
		}
	}
	return false
}

// Parent returns the grant under which a device may make another one at an entry of its log, or
// nil. It is the one nearest to the roots.
func (t *Tree) Parent(device [32]byte, at entry.Head, g *entry.Grant, past Past) (best *Grant) {
	for above := range t.To(device) {
		if best != nil && best.depth <= above.depth {
			continue
		}
		under := *g
		under.Under = &above.At
		f := &Fact{At: at, Device: device, Act: &entry.Act{Grant: &under}}
		if t.check(f, past) == nil && above.covers(at, past) == nil {
			best = above
		}
	}
	return best
}

// Above returns the grant under which a device may revoke another one at an entry of its log, or
// nil. It is the one nearest to the roots.
func (t *Tree) Above(device [32]byte, at entry.Head, g *Grant, past Past) (best *Grant) {
	for above := t.parent(g); above != nil; above = t.parent(above) {
		if above.Act.Grant.To.Includes(device) && above.covers(at, past) == nil {
			best = above
		}
	}
	return best
}

// Endorsed reports whether a device has endorsed an act, in what counts of its logs.
func (t *Tree) Endorsed(act *entry.Endorse, device [32]byte, past Past) bool {
	return slices.ContainsFunc(t.endorsed.get(act.Act).items, func(f *Fact) bool {
		return f.Device == device && f.Act.Endorse.Hash == act.Hash && past.Cut(f.At.Log) > f.At.Seq
	})
}

// includes reports whether a right includes another one.
func includes(r, other entry.Right) bool {
	return r.Level() >= other.Level() && other&^r&^0x0F == 0
}

// To returns the grants that are made to a device, whether they hold or not.
func (t *Tree) To(device [32]byte) iter.Seq[*Grant] {
	return func(yield func(*Grant) bool) {
		for _, all := range [][]entry.Head{t.devices.get(device).items, t.anyone.items} {
			for _, at := range all {
				if !yield(t.grants.get(at)) {
					return
				}
			}
		}
	}
}

// Now reports whether a device has a right in a collection, as far as is known now; an empty
// collection stands for any. Limits to keys and fields do not count.
func (t *Tree) Now(device [32]byte, right entry.Right, collection string) bool {
	if t.IsRoot(device) {
		return true
	}
	for g := range t.To(device) {
		if g.why != nil || g.ended || !includes(g.Act.Grant.Right, right) {
			continue
		}
		if len(g.Act.Grant.Scope) == 0 || collection == "" {
			return true
		}
		for i := range g.Act.Grant.Scope {
			if name := g.Act.Grant.Scope[i].Collection; name == "" || name == collection {
				return true
			}
		}
	}
	return false
}

// Everywhere reports whether a device has a right in all collections, as far as is known now.
func (t *Tree) Everywhere(device [32]byte, right entry.Right) bool {
	if t.IsRoot(device) {
		return true
	}
	for g := range t.To(device) {
		if g.why != nil || g.ended || !includes(g.Act.Grant.Right, right) {
			continue
		}
		if len(g.Act.Grant.Scope) == 0 || slices.ContainsFunc(g.Act.Grant.Scope,
			func(a entry.Area) bool { return a.Collection == "" }) {
			return true
		}
	}
	return false
}
