package replica

import (
	"bytes"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/rights"
)

// adoptAct makes an act behind the cut of a log again, as if it were made now, unless that was done
// before. Only its own device does so: one whose grants were revoked would get them back through
// somebody else.
func (t *txn) adoptAct(h *head, e *entry.Entry, a *Adopted) error {
	act, err := entry.ParseAct(e)
	if err != nil || act.Checkpoint != nil {
		return nil // there is nothing to save: void entries are not checked when they are stored
	}
	next, err := t.nextOwn()
	if err != nil {
		return err
	}
	v, err := t.rights()
	if err != nil {
		return err
	}
	own := &ownAct{v, next, entry.Head{Log: next.log.id, Seq: next.at.Seq}}
	done, err := t.actRepeated(h.device, e)
	if err != nil {
		return err
	}
	if done {
		a.Before++
		return nil
	}
	var again *entry.Act
	// What is made later than the act shows that it was made again, so it must not be ahead.
	if h.device == next.log.device && e.Time < next.at.Time {
		again, err = own.again(e.Time, act)
	}
	if err != nil || again == nil {
		a.Left++
		return err
	}
	a.Entries++
	return own.add(*again)
}

// again returns the act that does now what a void one would have done, or nil if the device may not
// do that any more, or it makes no sense any more.
func (o *ownAct) again(time hlc.Time, act *entry.Act) (again *entry.Act, err error) {
	switch {
	case act.Grant != nil:
		if o.revokedSince(act.Grant.To, time) {
			return nil, nil
		}
		g, ok := o.granting(act.Grant)
		if ok {
			again = &entry.Act{Grant: g}
		}
	case act.Revoke != nil:
		r, err := o.revoking(act.Revoke)
		if err != nil || r == nil {
			return nil, err
		}
		again = &entry.Act{Revoke: r}
	case act.Endorse != nil:
		e := act.Endorse
		hash, known := o.Hash(e.Act)
		cut := o.Cut(e.Act.Log) <= e.Act.Seq
		if known && hash == e.Hash && !cut && o.tree.IsRoot(o.next.log.device) {
			again = &entry.Act{Endorse: e}
		}
	}
	return again, o.err
}

// granting returns a grant as the device may make it now.
func (o *ownAct) granting(of *entry.Grant) (_ *entry.Grant, ok bool) {
	g := *of
	g.Under = nil
	if device := o.next.log.device; !o.tree.IsRoot(device) {
		above := o.tree.Parent(device, o.at, &g, seesAll{o.rightsView})
		if above == nil {
			return nil, false
		}
		g.Under = &above.At
	}
	return &g, true
}

// revoking returns a revocation as the device may make it now, or nil.
func (o *ownAct) revoking(of *entry.Revoke) (*entry.Revoke, error) {
	g := o.tree.Grant(of.Grant)
	if g == nil || g.Why() != nil {
		return nil, nil
	}
	r := &entry.Revoke{Grant: of.Grant}
	if device := o.next.log.device; !o.tree.IsRoot(device) {
		above := o.tree.Above(device, o.at, g, seesAll{o.rightsView})
		if above == nil {
			return nil, nil
		}
		r.Under = &above.At
	}
	var err error
	r.Last, err = o.lastOf(of.Grant)
	return r, err
}

// revokedSince reports whether a grant to a principal was revoked after a time: who did that may
// not have wanted an older one to follow.
func (v *rightsView) revokedSince(to entry.Principal, time hlc.Time) bool {
	for g := range v.tree.Grants() {
		if g.Act.Grant.To != to {
			continue
		}
		for f, why := range v.tree.Ends(g.At) {
			if why == nil && f.Time > time {
				return true
			}
		}
	}
	return false
}

// actRepeated reports whether what a void act of a device does was done otherwise: an equal grant
// holds, or the device has made one since; the grant that is revoked has ended; or the device has
// endorsed the same.
func (t *txn) actRepeated(device DeviceID, e *entry.Entry) (bool, error) {
	act, err := entry.ParseAct(e)
	if err != nil {
		return false, nil // void entries are not checked when they are stored
	}
	v, err := t.rights()
	if err != nil {
		return false, err
	}
	done := false
	switch {
	case act.Grant != nil:
		done = v.grantedAgain(device, e.Time, act.Grant)
	case act.Revoke != nil:
		g := v.tree.Grant(act.Revoke.Grant)
		done = g != nil && g.Why() == nil && g.Revoked()
	case act.Endorse != nil:
		done = v.tree.Endorsed(act.Endorse, device, v)
	}
	return done, v.err
}

// grantedAgain reports whether an equal grant holds, or the device has made one after a time.
func (v *rightsView) grantedAgain(device DeviceID, time hlc.Time, of *entry.Grant) bool {
	for g := range v.tree.Grants() {
		if g.Act.Grant.To != of.To || !sameGrant(g.Act.Grant, of) {
			continue
		}
		if g.Why() == nil && !g.Revoked() || v.madeSince(g, device, time) {
			return true
		}
	}
	return false
}

// madeSince reports whether a device has made a grant after a time, in what counts of its logs.
func (v *rightsView) madeSince(g *rights.Grant, device DeviceID, time hlc.Time) bool {
	return g.Device == device && g.Time > time && v.Cut(g.At.Log) > g.At.Seq
}

// sameGrant reports whether two grants give the same, whoever makes them.
func sameGrant(x, y *entry.Grant) bool {
	a, b := *x, *y
	a.Under, b.Under = nil, nil
	return bytes.Equal((&entry.Act{Grant: &a}).Append(nil), (&entry.Act{Grant: &b}).Append(nil))
}
