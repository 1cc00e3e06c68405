// Package rights decides who may do what in a space. It knows control entries and the order in
// which things happened, and no databases: what it decides is a function of the set of entries, in
// whatever order they arrive.
//
// The grants of a space are a [Tree]. A grant is made under another one, its parent, or by a root.
// It holds if its author had the parent at that entry, and gives no more than the parent. A
// revocation of a grant names the last entry of each log that counts under it. It is made under an
// ancestor of the grant, or by a root. So whether a grant holds, and up to where, depends on grants
// nearer to the roots alone: there are no cycles, and the order of concurrent acts is irrelevant.
//
// An act of a root counts once as many roots as the quorum of the space have made or endorsed it.
//
// A Tree is not safe for concurrent use while acts are added.
package rights

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// Fact is a control entry at its place.
type Fact struct {
	At     entry.Head
	Hash   entry.Hash
	Time   hlc.Time
	Device [32]byte // whose log it is
	Act    *entry.Act
}

// Past is what a Tree must know about the order of entries and the ends of logs.
type Past interface {
	// First returns the number of the first entry of a log that has seen a grant, itself included.
	// It is asked about logs of devices to whom the grant is made.
	First(log entry.Hash, grant entry.Head) (seq uint64, ok bool)
	// Cut returns the number of the entry from which on nothing of a log counts.
	Cut(log entry.Hash) uint64
	// Hash returns the hash of an entry, if it is known.
	Hash(at entry.Head) (hash entry.Hash, ok bool)
}

// Never is the end of a log that has none.
const Never = math.MaxUint64

// depthMax is how deep grants nest, which bounds what one decision costs.
const depthMax = 64

// Tree is the grants of a space and what became of them.
type Tree struct {
	trusted bool // nothing is checked
	roots   map[[32]byte]bool
	quorum  int
	grants  map[entry.Head]*Grant
	devices map[[32]byte][]*Grant // by whom they are made to
	anyone  []*Grant
	revokes map[entry.Head][]*revocation // by the grant, which may be unknown
	// endorsed has the endorsements of acts, which may be unknown.
	endorsed map[entry.Head][]*Fact
	awaited  map[entry.Head]bool // entries that revocations name, and that are not known
	narrow   bool                // see Narrow

	revocations map[entry.Head]*revocation
}

// Grant is a grant of a tree.
type Grant struct {
	*Fact
	parent   *Grant // nil: by a root
	children []*Grant
	depth    int
	why      error // why it does not hold; nil: it does
	extent
}

// revocation is a revocation of a grant.
type revocation struct {
	*Fact
	why error // why it has no effect
}

// Why returns why the grant does not hold, or nil.
func (g *Grant) Why() error { return g.why }

// Revoked reports whether a revocation ends the grant.
func (g *Grant) Revoked() bool { return g.ended }

// New returns the tree of a space without grants.
func New(space *entry.Space) *Tree {
	t := &Tree{trusted: space.Trusted, roots: map[[32]byte]bool{}, quorum: int(space.Quorum),
		grants: map[entry.Head]*Grant{}, devices: map[[32]byte][]*Grant{},
		revokes: map[entry.Head][]*revocation{}, endorsed: map[entry.Head][]*Fact{},
		awaited: map[entry.Head]bool{}, revocations: map[entry.Head]*revocation{}}
	for _, root := range space.Roots {
		t.roots[root] = true
	}
	return t
}

// Grant returns the grant that an entry makes, or nil.
func (t *Tree) Grant(at entry.Head) *Grant { return t.grants[at] }

// All returns all grants by time, whether they hold or not.
func (t *Tree) All() []*Grant {
	return slices.SortedFunc(maps.Values(t.grants), func(a, b *Grant) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.At.Log[:], b.At.Log[:]))
	})
}

// Ends returns an iterator over the revocations of a grant, with why they have no effect.
func (t *Tree) Ends(grant entry.Head) iter.Seq2[*Fact, error] {
	return func(yield func(*Fact, error) bool) {
		for _, r := range t.revokes[grant] {
			if !yield(r.Fact, r.why) {
				return
			}
		}
	}
}

// IsRoot reports whether a device is a root. In a trusted space, every device is.
func (t *Tree) IsRoot(device [32]byte) bool { return t.trusted || t.roots[device] }

// Quorum returns how many roots must agree to what one of them does.
func (t *Tree) Quorum() int { return max(t.quorum, 1) }

// Narrow reports whether a grant was ever made to a device that may not read all of the space.
func (t *Tree) Narrow() bool { return t.narrow }

// Why an act is void whatever else arrives.
var (
	errNotRoot   = errors.New("its author is no root, and names no grant that it acts under")
	errNoParent  = errors.New("the grant that it is made under does not exist")
	errNotHolder = errors.New("the grant that it is made under is of another device")
	errNotSeen   = errors.New("its author had not seen the grant that it is made under")
	errMayNot    = errors.New("the grant that it is made under does not permit to grant")
	errExceeds   = errors.New("it gives more than the grant that it is made under")
	errDeep      = fmt.Errorf("grants nest more than %d deep", depthMax)
)

// Add adds an act, and returns what changed. Void is why the act has no effect
// whatever else arrives; it is not in the tree then, and need not be added again. What it follows
// must have been added before.
func (t *Tree) Add(f *Fact, past Past) (changes []Change, void error) {
	if err := t.check(f, past); err != nil {
		return nil, err
	}
	switch {
	case f.Act.Grant != nil:
		g := t.addGrant(f)
		return t.decide(g, past, nil), nil
	case f.Act.Revoke != nil:
		target := f.Act.Revoke.Grant
		r := &revocation{f, errUndecided}
		t.revokes[target] = append(t.revokes[target], r)
		t.revocations[f.At] = r
		return t.decideAt(target, past), nil
	case f.Act.Endorse == nil:
		return nil, nil
	}
	act := f.Act.Endorse.Act
	t.endorsed[act] = append(t.endorsed[act], f)
	if r := t.revocations[act]; r != nil {
		act = r.Act.Revoke.Grant
	}
	return t.decideAt(act, past), nil
}

// Why returns why an act has no effect, or nil.
func (t *Tree) Why(f *Fact, past Past) error {
	if g := t.grants[f.At]; g != nil {
		return g.why
	}
	if r := t.revocations[f.At]; r != nil {
		if g := t.grants[r.Act.Revoke.Grant]; g == nil || g.why != nil {
			return errNothing
		}
		return r.why
	}
	if err := t.check(f, past); err != nil {
		return err
	}
	if past.Cut(f.At.Log) <= f.At.Seq {
		return errCut
	}
	if f.Act.Checkpoint != nil && !t.Holds(f.Device, f.At, entry.RightCheckpoint, past) {
		return errNoCheckpoint
	}
	return nil
}

// errNothing reports a revocation of a grant that does not hold anyway.
var errNothing = errors.New("there is no such grant, or it does not hold")

// errNoCheckpoint reports a checkpoint by a device that has no such right.
var errNoCheckpoint = errors.New("its author has no grant to make checkpoints")

// check returns why an act has no effect whatever else arrives, or nil.
func (t *Tree) check(f *Fact, past Past) error {
	var under *entry.Head
	switch {
	case f.Act.Grant != nil:
		under = f.Act.Grant.Under
	case f.Act.Revoke != nil:
		under = f.Act.Revoke.Under
	case f.Act.Checkpoint != nil:
		return nil
	}
	parent, err := t.under(f, under, past)
	if err != nil || parent == nil || f.Act.Grant == nil {
		return err
	}
	switch child := f.Act.Grant; {
	case parent.depth == depthMax:
		return errDeep
	case !mayGive(parent.Act.Grant.Right, child.Right),
		!within(child.Scope, parent.Act.Grant.Scope, &f.Device):
		return errExceeds
	}
	return nil
}

// under returns the grant that an act is made under, or nil if it is made as a root.
func (t *Tree) under(f *Fact, ref *entry.Head, past Past) (*Grant, error) {
	if ref == nil {
		if !t.IsRoot(f.Device) {
			return nil, errNotRoot
		}
		return nil, nil
	}
	g := t.grants[*ref]
	if g == nil {
		return nil, errNoParent
	}
	if !g.Act.Grant.To.Includes(f.Device) {
		return nil, errNotHolder
	}
	if first, ok := past.First(f.At.Log, *ref); !ok || first > f.At.Seq {
		return nil, errNotSeen
	}
	if right := g.Act.Grant.Right; right.Level() < entry.RightAdmin && right&entry.RightInvite == 0 {
		return nil, errMayNot
	}
	return g, nil
}

// addGrant adds a grant that the caller has checked.
func (t *Tree) addGrant(f *Fact) *Grant {
	g := &Grant{Fact: f, depth: 1}
	if under := f.Act.Grant.Under; under != nil {
		g.parent = t.grants[*under]
		g.depth = g.parent.depth + 1
		g.parent.children = append(g.parent.children, g)
	}
	t.grants[f.At] = g
	t.narrow = t.narrow || len(f.Act.Grant.Scope) > 0 || f.Act.Grant.Right.Level() < entry.RightRead
	if to := f.Act.Grant.To; to.Anyone {
		t.anyone = append(t.anyone, g)
	} else {
		t.devices[to.Device] = append(t.devices[to.Device], g)
	}
	return g
}

// mayGive reports whether a right permits to give another one.
func mayGive(parent, child entry.Right) bool {
	most := entry.RightWrite
	if parent.Level() == entry.RightAdmin {
		most = parent | entry.RightInvite
	}
	return includes(most, child)
}

// Awaits reports whether Arrived must be called for entries that arrive.
func (t *Tree) Awaits() bool { return len(t.awaited) > 0 }

// Arrived must be called when an entry arrives that has not been known. It returns what changed.
func (t *Tree) Arrived(at entry.Head, past Past) (changed []Change) {
	if !t.awaited[at] {
		return nil
	}
	delete(t.awaited, at)
	for target, all := range t.revokes {
		if slices.ContainsFunc(all, func(r *revocation) bool { return r.names(at) }) {
			changed = append(changed, t.decideAt(target, past)...)
		}
	}
	return changed
}

// names reports whether an entry is the last one of its log that counts.
func (r *revocation) names(at entry.Head) bool {
	return slices.ContainsFunc(r.Act.Revoke.Last, func(l entry.Last) bool { return l.Head == at })
}

// decideAt decides about a grant, if it is known.
func (t *Tree) decideAt(ref entry.Head, past Past) []Change {
	if g := t.grants[ref]; g != nil {
		return t.decide(g, past, nil)
	}
	return nil
}

// decide decides about a grant and everything below it, and appends what changed.
func (t *Tree) decide(g *Grant, past Past, changes []Change) []Change {
	before, otherwise := g.extent, false
	g.why = t.authority(g.Fact, g.parent, past)
	g.extent = extent{holds: g.why == nil}
	for _, r := range t.revokes[g.At] {
		counted := r.why == nil
		if r.why = t.mayRevoke(r, g, past); r.why == nil && g.holds {
			t.end(g, r, past)
		}
		otherwise = otherwise || counted != (r.why == nil)
	}
	if otherwise || !before.equal(&g.extent) {
		changes = append(changes, Change{g, before})
	}
	for _, child := range g.children {
		changes = t.decide(child, past, changes)
	}
	return changes
}
