package model

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// Rights decides what counts of the entries of a space, by the definitions of
// docs/replica-format.md.
type Rights struct {
	about  *entry.Space
	facts  map[id]*Fact
	pasts  map[id]map[id]bool
	acts   map[id]*entry.Act
	device map[entry.Hash][32]byte // of logs
}

// NewRights returns the rights that follow from facts, which must be all that they follow from,
// too.
func NewRights(about *entry.Space, facts []Fact) (*Rights, error) {
	r := &Rights{about: about, facts: map[id]*Fact{}, pasts: map[id]map[id]bool{},
		acts: map[id]*entry.Act{}, device: map[entry.Hash][32]byte{}}
	for i := range facts {
		f := &facts[i]
		at := id{f.Log, f.Seq}
		r.facts[at] = f
		if f.Entry.Kind == entry.KindGenesis {
			g, err := entry.ParseGenesis(f.Entry)
			if err != nil {
				return nil, err
			}
			r.device[f.Log] = g.Device
		}
		if f.Entry.Kind != entry.KindControl {
			continue
		}
		act, err := entry.ParseAct(f.Entry)
		if err != nil {
			return nil, err
		}
		r.acts[at] = act
	}
	for i := range facts {
		r.pasts[id{facts[i].Log, facts[i].Seq}] = pastOf(facts, &facts[i])
	}
	return r, nil
}

// Counting returns the facts without the parts that are void.
func (r *Rights) Counting(facts []Fact) ([]Fact, error) {
	alone, err := r.countingAlone(facts)
	if err != nil {
		return nil, err
	}
	var left []Fact
	all := r.levels(facts)
	for i, f := range alone {
		e := *f.Entry
		e.Parts = nil
		for _, part := range f.Entry.Parts {
			if f.Entry.Origin == nil || !r.repeats(among(alone, all, &f), i, &part) {
				e.Parts = append(e.Parts, part)
			}
		}
		f.Entry = &e
		left = append(left, f)
	}
	return left, nil
}

// among returns the facts that the same checkpoint is the first to cover as a fact, or that none
// covers either. The others have no parts.
func among(facts []Fact, all []level, f *Fact) (same []Fact) {
	first := func(f *Fact) int {
		return slices.IndexFunc(all, func(l level) bool { return l.covers(f.Log, f.Seq) })
	}
	for _, other := range facts {
		if first(&other) != first(f) {
			e := *other.Entry
			e.Parts = nil
			other.Entry = &e
		}
		same = append(same, other)
	}
	return same
}

// repeats reports whether a part of a fact that has an origin counts elsewhere.
func (r *Rights) repeats(alone []Fact, i int, part *entry.Part) bool {
	e := alone[i].Entry
	return slices.ContainsFunc(alone, func(f Fact) bool {
		same := slices.ContainsFunc(f.Entry.Parts, func(p entry.Part) bool {
			return p.Group == part.Group && bytes.Equal(p.Data, part.Data)
		})
		if f.Entry.Kind != entry.KindData || !same {
			return false
		}
		if f.Log == e.Origin.Log && f.Seq == e.Origin.Seq &&
			r.hash(id{f.Log, f.Seq}) == e.Origin.Hash {
			return true
		}
		o, self := f.Entry.Origin, alone[i]
		return o != nil && *o == *e.Origin && (f.Entry.Time < e.Time ||
			f.Entry.Time == e.Time && bytes.Compare(f.Log[:], self.Log[:]) < 0)
	})
}

// countingAlone returns the facts without the parts that have no grant, or are late.
func (r *Rights) countingAlone(facts []Fact) ([]Fact, error) {
	var left []Fact
	all := r.levels(facts)
	late := lates(facts, all)
	for _, f := range facts {
		if f.Entry.Kind == entry.KindData {
			e := *f.Entry
			e.Parts = nil
			then := r.settled(all, &f)
			for _, part := range f.Entry.Parts {
				changes, err := entry.ParseChanges(part.Data)
				if err != nil {
					return nil, err
				}
				from, isLate := late[f.Log]
				if (!isLate || f.Seq < from) && then.counts(id{f.Log, f.Seq}, part.Group, changes) {
					e.Parts = append(e.Parts, part)
				}
			}
			f.Entry = &e
		}
		left = append(left, f)
	}
	return left, nil
}

// root reports whether a log is one of a root's, as all are in a trusted space.
func (r *Rights) root(log entry.Hash) bool {
	return r.isRoot(r.device[log])
}

// isRoot reports whether a device is a root.
func (r *Rights) isRoot(device [32]byte) bool {
	return r.about.Trusted || slices.Contains(r.about.Roots, device)
}

// within returns the rights that follow from some of the acts.
func (r *Rights) within(has func(at id) bool) *Rights {
	some := *r
	some.acts = maps.Clone(r.acts)
	maps.DeleteFunc(some.acts, func(at id, _ *entry.Act) bool { return !has(at) })
	return &some
}

// settled returns the rights that decide about a fact: those that the first checkpoint which covers
// it covers, too.
func (r *Rights) settled(all []level, f *Fact) *Rights {
	for i := range all {
		if all[i].covers(f.Log, f.Seq) {
			return r.within(func(at id) bool { return all[i].covers(at.log, at.seq) })
		}
	}
	return r
}

// counts reports whether every change of a part has a grant.
func (r *Rights) counts(at id, group string, c *entry.Changes) bool {
	if r.root(at.log) {
		return true
	}
	var areas []entry.Area
	for g, act := range r.acts {
		if act.Grant == nil || act.Grant.Right.Level() < entry.RightWrite || !r.has(at, g) {
			continue
		}
		if len(act.Grant.Scope) == 0 {
			return true
		}
		areas = append(areas, act.Grant.Scope...)
	}
	some := func(key []byte, ok func(a *entry.Area) bool) bool {
		return slices.ContainsFunc(areas, func(a entry.Area) bool {
			return (a.Collection == "" || a.Collection == group) &&
				hasKey(&a, key, r.device[at.log]) && ok(&a)
		})
	}
	for _, record := range c.Records {
		if !some(record.Key, func(*entry.Area) bool { return true }) {
			return false
		}
		if record.Delete &&
			!some(record.Key, func(a *entry.Area) bool { return !a.NoDelete && len(a.Fields) == 0 }) {
			return false
		}
		for _, op := range record.Ops {
			if !some(record.Key, func(a *entry.Area) bool {
				return len(a.Fields) == 0 || slices.Contains(a.Fields, c.Fields[op.Field])
			}) {
				return false
			}
		}
	}
	return true
}

// hasKey reports whether an area has a key, for a device.
func hasKey(a *entry.Area, key []byte, device [32]byte) bool {
	rest, ok := bytes.CutPrefix(key, a.Prefix)
	if !ok || !a.OwnOnly {
		return ok
	}
	return bytes.HasPrefix(rest, tuple.AppendBytes(nil, device[:])) ||
		bytes.HasPrefix(rest, tuple.AppendString(nil, hex.EncodeToString(device[:])))
}

// has reports whether the device of a log has a grant at an entry.
func (r *Rights) has(at, grant id) bool {
	g := r.acts[grant].Grant
	if !g.To.Anyone && g.To.Device != r.device[at.log] {
		return false
	}
	if grant != at && !r.pasts[at][grant] || !r.Holds(Fact{Log: grant.log, Seq: grant.seq}) {
		return false
	}
	for by, act := range r.acts {
		v := act.Revoke
		if v == nil || idOf(v.Grant) != grant || !r.Holds(Fact{Log: by.log, Seq: by.seq}) {
			continue
		}
		counts := false
		for _, last := range v.Last {
			if last.Log == at.log && last.Seq >= at.seq {
				counts = r.facts[idOf(last.Head)] == nil || r.hash(idOf(last.Head)) == last.Hash
			}
		}
		if !counts {
			return false
		}
	}
	return true
}

func idOf(h entry.Head) id { return id{h.Log, h.Seq} }

// hash returns the hash of an entry.
func (r *Rights) hash(at id) entry.Hash { return r.facts[at].Hash }

// HasEffect reports whether the act of a fact holds, and does not end a grant that does not.
func (r *Rights) HasEffect(f Fact) bool {
	v := r.acts[id{f.Log, f.Seq}].Revoke
	if v == nil || !r.Holds(f) {
		return r.Holds(f)
	}
	target := Fact{Log: v.Grant.Log, Seq: v.Grant.Seq}
	return r.acts[idOf(v.Grant)] != nil && r.Holds(target)
}

// Holds reports whether the act of a fact holds.
func (r *Rights) Holds(f Fact) bool {
	at := id{f.Log, f.Seq}
	act := r.acts[at]
	switch {
	case act.Endorse != nil:
		return r.root(at.log)
	case act.Checkpoint != nil:
		return r.root(at.log) || slices.ContainsFunc(slices.Collect(maps.Keys(r.acts)), func(g id) bool {
			grant := r.acts[g].Grant
			return grant != nil && grant.Right&entry.RightCheckpoint != 0 && r.has(at, g)
		})
	case act.Grant != nil && act.Grant.Under != nil:
		parent := idOf(*act.Grant.Under)
		return r.acts[parent] != nil && r.acts[parent].Grant != nil && r.has(at, parent) &&
			r.gives(parent, at, act.Grant)
	case act.Revoke != nil && act.Revoke.Under != nil:
		under := idOf(*act.Revoke.Under)
		return r.above(under, idOf(act.Revoke.Grant)) && mayGrant(r.acts[under].Grant.Right) &&
			r.has(at, under)
	}
	return r.agreed(at)
}

// agreed reports whether enough roots have made or endorsed an act.
func (r *Rights) agreed(at id) bool {
	if !r.root(at.log) {
		return false
	}
	roots := map[[32]byte]bool{r.device[at.log]: true}
	for by, act := range r.acts {
		e := act.Endorse
		if e != nil && idOf(e.Act) == at && e.Hash == r.hash(at) && r.root(by.log) {
			roots[r.device[by.log]] = true
		}
	}
	return len(roots) >= int(r.about.Quorum)
}

// above reports whether a grant is the parent of another one, or the parent's parent, and so on.
func (r *Rights) above(grant, other id) bool {
	act := r.acts[other]
	if act == nil || act.Grant == nil || act.Grant.Under == nil {
		return false
	}
	parent := idOf(*act.Grant.Under)
	if !r.pasts[other][parent] || r.acts[parent] == nil || r.acts[parent].Grant == nil {
		return false
	}
	return parent == grant || r.above(grant, parent)
}

func mayGrant(right entry.Right) bool {
	return right.Level() == entry.RightAdmin || right&entry.RightInvite != 0
}

// gives reports whether a grant gives no more than its parent, and does not nest too deep.
func (r *Rights) gives(parent, at id, g *entry.Grant) bool {
	depth := 2
	for above := r.acts[parent].Grant.Under; above != nil; depth++ {
		above = r.acts[idOf(*above)].Grant.Under
	}
	p := r.acts[parent].Grant
	flags := g.Right &^ g.Right.Level()
	switch {
	case depth > 64:
		return false
	case p.Right.Level() == entry.RightAdmin:
		if flags&entry.RightCheckpoint > p.Right&entry.RightCheckpoint {
			return false
		}
	case p.Right&entry.RightInvite == 0 || g.Right.Level() > entry.RightWrite || flags != 0:
		return false
	}
	areas := g.Scope
	if len(areas) == 0 {
		areas = []entry.Area{{}}
	}
	for _, a := range areas {
		if len(p.Scope) > 0 && !slices.ContainsFunc(p.Scope, func(b entry.Area) bool {
			return lies(&a, &b, r.device[at.log])
		}) {
			return false
		}
	}
	return true
}

// lies reports whether an area lies in another one, of a grant to a device.
func lies(a, in *entry.Area, device [32]byte) bool {
	if in.Collection != "" && a.Collection != in.Collection || in.NoDelete && !a.NoDelete {
		return false
	}
	if len(in.Fields) > 0 {
		outside := slices.ContainsFunc(a.Fields, func(f string) bool {
			return !slices.Contains(in.Fields, f)
		})
		if len(a.Fields) == 0 || outside {
			return false
		}
	}
	if in.OwnOnly && a.OwnOnly && bytes.Equal(a.Prefix, in.Prefix) {
		return true
	}
	return hasKey(in, a.Prefix, device)
}
