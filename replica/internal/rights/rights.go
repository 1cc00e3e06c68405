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
// A Tree is not safe for concurrent use while acts are added. [Tree.Clone] costs nothing: a copy
// shares with the original what is the same in both.
package rights

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
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
	edit    *edit // of what is this tree's alone
	trusted bool  // nothing is checked
	roots   map[[32]byte]bool
	quorum  int
	grants  table[entry.Head, *Grant]
	devices table[[32]byte, list[entry.Head]] // the grants, by whom they are made to
	anyone  list[entry.Head]
	revokes table[entry.Head, list[*Fact]] // by the grant, which may be unknown
	// endorsed has the endorsements of acts, which may be unknown.
	endorsed table[entry.Head, list[*Fact]]
	awaited  table[entry.Head, bool] // entries that revocations name: true if they are not known
	narrow   bool                    // see Narrow

	revocations table[entry.Head, revocation]
}

// Grant is a grant of a tree. It changes with the tree, and not any more once the tree was cloned.
type Grant struct {
	*Fact
	edit     *edit
	children list[entry.Head]
	depth    int
	why      error   // why it does not hold; nil: it does
	vain     []error // why its revocations have no effect; nil: they have
	extent
}

// revocation is a revocation of a grant.
type revocation struct {
	*Fact      // nil: there is none
	number int // of those of its grant
}

// Why returns why the grant does not hold, or nil.
func (g *Grant) Why() error { return g.why }

// Revoked reports whether a revocation ends the grant.
func (g *Grant) Revoked() bool { return g.ended }

// New returns the tree of a space without grants.
func New(space *entry.Space) *Tree {
	t := &Tree{edit: &edit{}, trusted: space.Trusted, roots: map[[32]byte]bool{},
		quorum: int(space.Quorum), grants: newTable[entry.Head, *Grant](),
		devices:     newTable[[32]byte, list[entry.Head]](),
		revokes:     newTable[entry.Head, list[*Fact]](),
		endorsed:    newTable[entry.Head, list[*Fact]](),
		awaited:     newTable[entry.Head, bool](),
		revocations: newTable[entry.Head, revocation]()}
	for _, root := range space.Roots {
		t.roots[root] = true
	}
	return t
}

// Clone returns a copy of the tree. From then on acts may be added to copies only, and to one copy
// at a time.
func (t *Tree) Clone() *Tree {
	c := *t
	c.edit = &edit{}
	return &c
}

// Grant returns the grant that an entry makes, or nil.
func (t *Tree) Grant(at entry.Head) *Grant { return t.grants.get(at) }

// Grants returns an iterator over all grants, in no order.
func (t *Tree) Grants() iter.Seq[*Grant] {
	return func(yield func(*Grant) bool) {
		for _, g := range t.grants.all() {
			if !yield(g) {
				return
			}
		}
	}
}

// All returns all grants by time, whether they hold or not.
func (t *Tree) All() []*Grant {
	return slices.SortedFunc(t.Grants(), func(a, b *Grant) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.At.Log[:], b.At.Log[:]))
	})
}

// Ends returns an iterator over the revocations of a grant, with why they have no effect.
func (t *Tree) Ends(grant entry.Head) iter.Seq2[*Fact, error] {
	return func(yield func(*Fact, error) bool) {
		g := t.grants.get(grant)
		for i, f := range t.revokes.get(grant).items {
			if !yield(f, g.ending(i)) {
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

// Add adds an act, and returns about which grants was decided again. Void is why the act has no
// effect whatever else arrives; it is not in the tree then, and need not be added again. What it
// follows must have been added before.
func (t *Tree) Add(f *Fact, past Past) (decided []Change, void error) {
	if err := t.check(f, past); err != nil {
		return nil, err
	}
	switch {
	case f.Act.Grant != nil:
		t.addGrant(f)
		return t.decide(f.At, past, nil), nil
	case f.Act.Revoke != nil:
		target := f.Act.Revoke.Grant
		all := t.revokes.get(target)
		t.revocations.set(t.edit, f.At, revocation{f, len(all.items)})
		t.revokes.set(t.edit, target, all.with(f))
		return t.decide(target, past, nil), nil
	case f.Act.Endorse == nil:
		return nil, nil
	}
	act := f.Act.Endorse.Act
	t.endorsed.set(t.edit, act, t.endorsed.get(act).with(f))
	if r := t.revocations.get(act); r.Fact != nil {
		act = r.Act.Revoke.Grant
	}
	return t.decide(act, past, nil), nil
}

// Why returns why an act has no effect, or nil.
func (t *Tree) Why(f *Fact, past Past) error {
	if g := t.grants.get(f.At); g != nil {
		return g.why
	}
	if r := t.revocations.get(f.At); r.Fact != nil {
		g := t.grants.get(r.Act.Revoke.Grant)
		if g == nil || g.why != nil {
			return errNothing
		}
		return g.ending(r.number)
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
	g := t.grants.get(*ref)
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
func (t *Tree) addGrant(f *Fact) {
	g := &Grant{Fact: f, edit: t.edit, depth: 1}
	if under := f.Act.Grant.Under; under != nil {
		parent := t.own(*under)
		parent.children = parent.children.with(f.At)
		g.depth = parent.depth + 1
	}
	t.grants.set(t.edit, f.At, g)
	t.narrow = t.narrow || len(f.Act.Grant.Scope) > 0 || f.Act.Grant.Right.Level() < entry.RightRead
	if to := f.Act.Grant.To; to.Anyone {
		t.anyone = t.anyone.with(f.At)
	} else {
		t.devices.set(t.edit, to.Device, t.devices.get(to.Device).with(f.At))
	}
}

// own returns a grant that may be changed, or nil if it is unknown.
func (t *Tree) own(at entry.Head) *Grant {
	g := t.grants.get(at)
	if g != nil && g.edit != t.edit {
		c := *g
		g, c.edit = &c, t.edit
		t.grants.set(t.edit, at, g)
	}
	return g
}

// parent returns the grant that a grant was made under, or nil if it is by a root.
func (t *Tree) parent(g *Grant) *Grant {
	if under := g.Act.Grant.Under; under != nil {
		return t.grants.get(*under)
	}
	return nil
}

// mayGive reports whether a right permits to give another one.
func mayGive(parent, child entry.Right) bool {
	most := entry.RightWrite
	if parent.Level() == entry.RightAdmin {
		most = parent | entry.RightInvite
	}
	return includes(most, child)
}

// Awaits reports whether Arrived must be called when an entry arrives.
func (t *Tree) Awaits(at entry.Head) bool { return t.awaited.get(at) }

// Arrived must be called when an entry arrives that is awaited. It returns about what was decided.
func (t *Tree) Arrived(at entry.Head, past Past) (decided []Change) {
	t.awaited.set(t.edit, at, false)
	var targets []entry.Head
	for target, all := range t.revokes.all() {
		if slices.ContainsFunc(all.items, func(f *Fact) bool { return names(f, at) }) {
			targets = append(targets, target)
		}
	}
	for _, target := range targets {
		decided = t.decide(target, past, decided)
	}
	return decided
}

// names reports whether an entry is the last one of its log that counts by a revocation.
func names(f *Fact, at entry.Head) bool {
	return slices.ContainsFunc(f.Act.Revoke.Last, func(l entry.Last) bool { return l.Head == at })
}

// Names reports whether a revocation names an entry of a log, from one on, as the last that counts.
func (t *Tree) Names(log entry.Hash, from uint64) bool {
	for _, r := range t.revocations.all() {
		if slices.ContainsFunc(r.Act.Revoke.Last, func(l entry.Last) bool {
			return l.Log == log && l.Seq >= from
		}) {
			return true
		}
	}
	return false
}
