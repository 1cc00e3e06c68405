package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Right is what a grant permits: one of Relay, Read, Write and Admin, each of which includes those
// before, and any of the flags Invite and Checkpoint.
type Right uint8

// The rights.
const (
	// Relay permits to have who changed which collection when, and to pass that on. What the entries
	// say is withheld.
	Relay = Right(entry.RightRelay)
	// Read permits to have what entries say about the collections of the scope, whole collections
	// whatever else limits it.
	Read = Right(entry.RightRead)
	// Write permits to change records.
	Write = Right(entry.RightWrite)
	// Admin permits to grant any part of itself, and to revoke that.
	Admin = Right(entry.RightAdmin)
	// Invite permits to grant up to Write, whatever the level of the right itself, and to revoke
	// that. It is for who checks logins.
	Invite = Right(entry.RightInvite)
	// Checkpoint permits to make checkpoints.
	Checkpoint = Right(entry.RightCheckpoint)
)

// Scope is the part of a space to which a grant extends: collections, or some of what is in them.
// Its methods return narrower scopes. Limits to keys, fields and deletions are for writing; reading
// is by whole collections.
type Scope struct {
	areas []entry.Area
	err   error // of what would be wider than it looks
}

// Errors of scopes.
var (
	errNoScope = errors.New("a Scope is not set: begin with In, or give none for the whole space")
	errNoName  = errors.New("a name given to In is empty: without names, it is all collections")
	errNoField = errors.New("Fields has no names: leave it out for all fields")
)

// In returns the scope of some collections; without names, of all.
func In(collections ...string) Scope {
	if len(collections) == 0 {
		return Scope{areas: []entry.Area{{}}}
	}
	var s Scope
	for _, name := range collections {
		if name == "" {
			s.err = errNoName
		}
		s.areas = append(s.areas, entry.Area{Collection: name})
	}
	return s
}

// narrow returns the scope with each area changed.
func (s Scope) narrow(change func(*entry.Area)) Scope {
	s.areas = slices.Clone(s.areas)
	for i := range s.areas {
		change(&s.areas[i])
	}
	return s
}

// Prefix narrows the scope to records whose keys begin with these bytes; see package tuple.
func (s Scope) Prefix(key []byte) Scope {
	return s.narrow(func(a *entry.Area) { a.Prefix = bytes.Clone(key) })
}

// OwnOnly narrows the scope to records of the device that writes: those whose first key field, or
// the first behind [Scope.Prefix], is its id, as bytes or as the text of [DeviceID.String].
func (s Scope) OwnOnly() Scope {
	return s.narrow(func(a *entry.Area) { a.OwnOnly = true })
}

// NoDelete excludes the deletion of records.
func (s Scope) NoDelete() Scope {
	return s.narrow(func(a *entry.Area) { a.NoDelete = true })
}

// Fields narrows the scope to fields, by the first names that they had. Records can be created, not
// deleted.
func (s Scope) Fields(names ...string) Scope {
	if len(names) == 0 {
		s.err = errNoField
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return s.narrow(func(a *entry.Area) { a.Fields = names })
}

// head returns what a context has for the entry.
func (id EntryID) head() entry.Head { return entry.Head{Log: entry.Hash(id.Log), Seq: id.Seq} }

// ownAct is an act of this replica that is being made.
type ownAct struct {
	*rightsView
	next *nextEntry
	at   entry.Head
}

// act prepares an act in a transaction.
func (s *Space) act(tx *stoat.Tx) (*ownAct, error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, err
	}
	if err := s.confine(tx); err != nil {
		return nil, err
	}
	v, err := t.rights()
	if err != nil {
		return nil, err
	}
	next, err := t.nextOwn()
	if err != nil {
		return nil, err
	}
	return &ownAct{v, next, entry.Head{Log: next.log.id, Seq: next.at.Seq}}, nil
}

// errTrusted is returned for grants and revocations in a trusted space.
var errTrusted = errors.New("the space is trusted: everybody may do everything")

// add appends the act to the own log.
func (a *ownAct) add(act entry.Act) error {
	if a.t.space.trusted() && act.Checkpoint == nil {
		return errTrusted
	}
	return a.t.issue(a.next, act.Entry())
}

// confine makes the transaction one that writes to this space only.
func (s *Space) confine(tx *stoat.Tx) error {
	if only := stoat.Local(tx, onlySpace{}, func() *Space { return s }); only != s {
		return fmt.Errorf("%w: %q and %q", ErrTwoSpaces, only.name, s.name)
	}
	return nil
}

// Grant gives a right to a device, or to [Anyone], in some scopes; without any, in the whole space.
// It is an entry of this replica's log, in the transaction.
//
// A root of the space may grant everything, others what they were granted with Admin or Invite. If
// the space has a quorum above 1, a grant by a root counts once other roots have endorsed it: see
// [Space.Endorse].
func (s *Space) Grant(tx *stoat.Tx, to Principal, right Right, scopes ...Scope) error {
	return wrap(s.name, s.grant(tx, to, right, scopes))
}

func (s *Space) grant(tx *stoat.Tx, to Principal, right Right, scopes []Scope) error {
	g := &entry.Grant{Right: entry.Right(right)}
	var err error
	if g.To, err = principalOf(to); err == nil && g.To == (entry.Principal{}) {
		err = errNobody // anybody can sign with that key
	}
	if err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	a, err := s.act(tx)
	if err != nil {
		return err
	}
	if g.Scope, err = areasOf(scopes); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	if _, err := entry.ParseAct((&entry.Act{Grant: g}).Entry()); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	device := a.next.log.device
	if !a.tree.IsRoot(device) {
		above := a.tree.Parent(device, a.at, g, seesAll{a.rightsView})
		if above == nil {
			return cmp.Or(a.err, fmt.Errorf("the device %s cannot grant that: it needs "+
				"Admin or Invite of all that it gives: %w", device, ErrNotAllowed))
		}
		g.Under = &above.At
	}
	return a.add(entry.Act{Grant: g})
}

// areasOf returns the areas of scopes in order.
func areasOf(scopes []Scope) (all []entry.Area, err error) {
	for _, scope := range scopes {
		if len(scope.areas) == 0 {
			return nil, errNoScope
		}
		all, err = append(all, scope.areas...), errors.Join(err, scope.err)
	}
	compare := func(a, b entry.Area) int { return bytes.Compare(a.Append(nil), b.Append(nil)) }
	slices.SortFunc(all, compare)
	same := func(a, b entry.Area) bool { return compare(a, b) == 0 }
	return slices.CompactFunc(all, same), err
}

// Revoke ends all grants to a device, or to [Anyone]. Of its logs, what this replica has now
// counts; nothing that arrives later does, whatever time it has. A device may end what was granted
// below a grant that it holds, and a root everything. If it may not end one of them, it ends none.
func (s *Space) Revoke(tx *stoat.Tx, from Principal) error {
	of, err := principalOf(from)
	if err != nil {
		return wrap(s.name, fmt.Errorf("revoke: %w", err))
	}
	return wrap(s.name, s.revokeAll(tx, of))
}

func (s *Space) revokeAll(tx *stoat.Tx, from entry.Principal) error {
	t, err := s.in(tx)
	if err != nil {
		return err
	}
	v, err := t.rights()
	if err != nil {
		return err
	}
	var all []entry.Head
	for g := range v.tree.To(from.Device) {
		if g.Act.Grant.To == from && g.Why() == nil && !g.Revoked() {
			all = append(all, g.At)
		}
	}
	if len(all) == 0 {
		return errNoGrant
	}
	a, err := s.act(tx)
	for _, at := range all { // before anything is written
		if err == nil {
			_, err = a.revocation(at)
		}
	}
	if err != nil {
		return err
	}
	return t.allOrNone(func() error {
		for _, at := range all {
			if err := s.revoke(tx, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// errNoGrant reports that there is nothing to revoke.
var errNoGrant = errors.New("there is no grant to revoke")

// RevokeGrant ends one grant, as [Space.Revoke] does; see [Space.Grants].
func (s *Space) RevokeGrant(tx *stoat.Tx, grant EntryID) error {
	return wrap(s.name, s.revoke(tx, grant.head()))
}

func (s *Space) revoke(tx *stoat.Tx, grant entry.Head) error {
	a, err := s.act(tx)
	if err != nil {
		return err
	}
	r, err := a.revocation(grant)
	if err != nil {
		return err
	}
	return a.add(entry.Act{Revoke: r})
}

// revocation returns the revocation of a grant, if the device may make it.
func (a *ownAct) revocation(grant entry.Head) (r *entry.Revoke, err error) {
	g := a.tree.Grant(grant)
	if g == nil {
		return nil, fmt.Errorf("%s/%d: %w", grant.Log, grant.Seq, errNoGrant)
	}
	r = &entry.Revoke{Grant: grant}
	device := a.next.log.device
	if !a.tree.IsRoot(device) {
		above := a.tree.Above(device, a.at, g, seesAll{a.rightsView})
		if above == nil {
			return nil, cmp.Or(a.err, fmt.Errorf("the device %s cannot revoke that: it needs a grant "+
				"above it: %w", device, ErrNotAllowed))
		}
		r.Under = &above.At
	}
	r.Last, err = a.lastOf(grant)
	return r, err
}

// lastOf returns the last entries of the logs that have seen a grant.
func (v *rightsView) lastOf(grant entry.Head) (all []entry.Last, err error) {
	err = v.eachSeen(grant, func(h *head, _ uint64) error {
		hash, err := v.t.hashOf(h.number, h.next-1)
		all = append(all, entry.Last{Head: entry.Head{Log: h.id, Seq: h.next - 1}, Hash: hash})
		return err
	})
	slices.SortFunc(all, func(a, b entry.Last) int { return bytes.Compare(a.Log[:], b.Log[:]) })
	return all, err
}

// Endorse consents to a grant or a revocation that another root has made. It counts once as many
// roots as the quorum of the space have made or endorsed it.
func (s *Space) Endorse(tx *stoat.Tx, act EntryID) error {
	a, err := s.act(tx)
	if err != nil {
		return wrap(s.name, err)
	}
	if device := a.next.log.device; !a.tree.IsRoot(device) {
		return wrap(s.name, fmt.Errorf("the device %s cannot endorse: it is no root: %w", device,
			ErrNotAllowed))
	}
	e := &entry.Endorse{Act: act.head()}
	number, known, err := a.t.logNumber(e.Act.Log)
	if err == nil && !known {
		err = fmt.Errorf("log %s: %w", act.Log, stoat.ErrNotFound)
	}
	if err == nil {
		e.Hash, err = a.t.hashOf(number, act.Seq)
	}
	if err == nil {
		err = a.t.endorsable(spot{number, act.Seq})
	}
	if err == nil {
		err = a.add(entry.Act{Endorse: e})
	}
	return wrap(s.name, err)
}

// endorsable returns an error unless an entry is a grant or a revocation.
func (t *txn) endorsable(at spot) error {
	e, err := t.entry(at.log, at.seq)
	if err != nil || e.Kind != entry.KindControl {
		return cmp.Or(err, errNoAct)
	}
	act, err := entry.ParseAct(e)
	if err == nil && act.Grant == nil && act.Revoke == nil {
		err = errNoAct
	}
	return err
}

// errNoAct reports an entry to which nobody can consent.
var errNoAct = errors.New("the entry is no grant and no revocation")

// May reports whether a device has a right to a collection, as far as this replica knows now; an
// empty name stands for any collection. Limits to keys, fields and deletions are not looked at.
func (s *Space) May(tx *stoat.Tx, device DeviceID, right Right, collection string) (bool, error) {
	t, err := s.in(tx)
	if err != nil {
		return false, err
	}
	v, err := t.rights()
	if err != nil {
		return false, wrap(s.name, err)
	}
	return v.tree.Now(device, entry.Right(right), collection), nil
}

// eachSeen calls fn with the logs that have seen a grant, and the first entry of each that has.
func (v *rightsView) eachSeen(grant entry.Head, fn func(h *head, first uint64) error) error {
	by, known, err := v.t.logNumber(grant.Log)
	if err != nil || !known {
		return err
	}
	prefix := entryKey(nil, prefixSeen, by, grant.Seq)
	for key := range v.t.meta.Keys(stoat.Prefix(prefix)) {
		if len(key) != len(prefix)+4 {
			return fmt.Errorf("%q: %w", key, stoat.ErrCorrupt)
		}
		k := firstKey{binary.BigEndian.Uint32(key[len(prefix):]), by, grant.Seq}
		first, _ := v.firstOf(k)
		h, err := v.t.head(k.log)
		if err := cmp.Or(v.err, err); err != nil {
			return err
		}
		if err := fn(h, first); err != nil {
			return err
		}
	}
	return v.t.tx.Err()
}
