package replica

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/model"
	"github.com/stoatdb/stoat/tuple"
)

// Grants, revocations, endorsements and lies at random: what counts, and the state that follows,
// are those of the model.
func TestHistoryOfActs_equalsTheModel(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(seed uint64) {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 17)), rights: true}
		h.run()
	})
}

// found makes the first replica of a history.
func (h *history) found() *peer {
	if !h.rights {
		return newPeer(h.t, nil)
	}
	var roots []DeviceID
	for _, seed := range [][32]byte{{1}, {2, 1}, {2, 2}}[:1+h.rng.IntN(3)] {
		roots = append(roots, testDevice(seed).ID())
	}
	p := newPeerOf(h.t, nil, roots, 1+h.rng.IntN(len(roots)))
	if h.rng.IntN(2) == 0 {
		p.allow()
	}
	return p
}

// act makes a replica grant, revoke or endorse something, or lie.
func (h *history) act(p *peer) {
	err := p.db.Update(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err == nil {
			err = h.oneAct(tx, p, n)
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrNotAllowed) && !errors.Is(err, errNoGrant) {
		h.t.Error(err)
	}
}

func (h *history) oneAct(tx *stoat.Tx, p *peer, n *txn) error {
	grants, revocations, err := acts(n)
	if err != nil {
		return err
	}
	pick := func(of []EntryID) EntryID { return of[h.rng.IntN(len(of))] }
	switch k := h.rng.IntN(8); {
	case k < 3 || len(grants) == 0:
		return p.space.Grant(tx, h.principal(), h.right(), h.scopes()...)
	case k < 5:
		return p.space.RevokeGrant(tx, pick(grants))
	case k < 6:
		return p.space.Endorse(tx, pick(append(grants, revocations...)))
	case k < 7:
		return h.lie(n, pick(grants))
	}
	return h.trespass(n)
}

func (h *history) principal() Principal {
	if h.rng.IntN(5) == 0 {
		return Anyone
	}
	return h.any().space.device.ID()
}

func (h *history) right() Right {
	right := Right(1 + h.rng.IntN(4))
	if h.rng.IntN(3) > 0 {
		right = max(right, Write)
	}
	return right | []Right{0, 0, Invite, Checkpoint}[h.rng.IntN(4)]
}

func (h *history) scopes() (all []Scope) {
	if h.rng.IntN(3) == 0 {
		return nil
	}
	s := In([][]string{{"tasks"}, {"others"}, nil}[h.rng.IntN(3)]...)
	switch h.rng.IntN(8) {
	case 0:
		s = s.Prefix(tuple.AppendInt(nil, 1))
	case 1:
		s = s.NoDelete()
	case 2:
		s = s.Fields("title", "votes", "tags")
	case 3:
		s = s.OwnOnly()
	}
	return []Scope{s}
}

// acts returns the grants and revocations that a replica has.
func acts(t *txn) (grants, revocations []EntryID, err error) {
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, nil, err
		}
		for seq := range h.next {
			e, err := t.entry(h.number, seq)
			if err != nil {
				return nil, nil, err
			}
			if e.Kind != entry.KindControl {
				continue
			}
			act, err := entry.ParseAct(e)
			switch at := (EntryID{LogID(h.id), seq}); {
			case err != nil:
				return nil, nil, err
			case act.Grant != nil:
				grants = append(grants, at)
			case act.Revoke != nil:
				revocations = append(revocations, at)
			}
		}
	}
	return grants, revocations, nil
}

// lie makes an act that cites a grant, whether the device may or not.
func (h *history) lie(t *txn, cited EntryID) error {
	next, err := t.nextOwn()
	if err != nil {
		return err
	}
	under := cited.head()
	act := &entry.Act{}
	if h.rng.IntN(2) == 0 {
		act.Grant = &entry.Grant{Under: &under, To: h.principal().principal(),
			Right: entry.Right(h.right())}
		for _, s := range h.scopes() {
			act.Grant.Scope = append(act.Grant.Scope, s.areas...)
		}
		if h.rng.IntN(3) == 0 {
			act.Grant.Under = nil
		}
	} else {
		act.Revoke = &entry.Revoke{Under: &under, Grant: under}
		if h.rng.IntN(2) == 0 {
			act.Revoke.Under = nil
		}
	}
	return t.issue(next, act.Entry())
}

// trespass changes records whether the device may or not.
func (h *history) trespass(t *txn) error {
	next, err := t.nextOwn()
	if err != nil {
		return err
	}
	r := entry.Record{Key: tuple.AppendInt(nil, int64(1+h.rng.IntN(3)))}
	if r.Delete = h.rng.IntN(3) == 0; !r.Delete {
		r.Ops = []entry.Op{{Kind: entry.OpSet, Value: tuple.AppendString(nil, "lie")}}
	}
	c := &entry.Changes{Fields: []string{"title"}, Records: []entry.Record{r}}
	if r.Delete {
		c.Fields = nil
	}
	e := &entry.Entry{Kind: entry.KindData, Parts: []entry.Part{{Group: "tasks", Data: c.Append(nil)}}}
	return t.place(next, e)
}

// repeat issues what an entry did again, or claims to.
func (h *history) repeat(p *peer) {
	p.inTx(func(t *txn) error {
		heads, err := t.allHeads()
		if err != nil {
			return err
		}
		head := heads[h.rng.IntN(len(heads))]
		o, err := t.orphan(head, h.rng.Uint64N(head.next))
		if err != nil || o.entry.Kind != entry.KindData {
			return err
		}
		switch h.rng.IntN(6) {
		case 0:
			o.origin.Hash[3]++
		case 1:
			o.origin.Seq++
		}
		next, err := t.nextOwn()
		if err != nil {
			return err
		}
		return t.place(next, &entry.Entry{Kind: entry.KindData, Origin: &o.origin,
			Parts: o.entry.Parts})
	})
}

// adoptSome adopts entries of a log.
func (h *history) adoptSome(p *peer) {
	err := p.db.Update(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		heads, err := n.allHeads()
		if err != nil {
			return err
		}
		head := heads[h.rng.IntN(len(heads))]
		from := h.rng.Uint64N(head.next)
		_, err = p.space.Adopt(tx, LogID(head.id), from, from+h.rng.Uint64N(10))
		return err
	})
	if err != nil && !errors.Is(err, ErrNotAllowed) {
		h.t.Error(err)
	}
}

// revertSome reverts entries.
func (h *history) revertSome(p *peer) {
	f := Filter{Collection: []string{"", "tasks"}[h.rng.IntN(2)]}
	if h.rng.IntN(2) == 0 {
		f.Device = h.any().space.device.ID()
	} else {
		f.From = p.now.Add(-time.Duration(h.rng.IntN(120)) * time.Second)
	}
	err := p.db.Update(func(tx *stoat.Tx) error {
		_, err := p.space.Revert(tx, f)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotAllowed) {
		h.t.Error(err)
	}
}

// compareActs compares which acts have an effect with the model, except checkpoints.
func (p *peer) compareActs(rights *model.Rights, facts []model.Fact) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		for _, f := range facts {
			if f.Entry.Kind != entry.KindControl {
				continue
			}
			if act, err := entry.ParseAct(f.Entry); err != nil || act.Checkpoint != nil {
				continue
			}
			number, _, err := t.logNumber(f.Log)
			if err != nil {
				return err
			}
			h, err := t.head(number)
			if err != nil {
				return err
			}
			_, reason, err := t.verdict(h, f.Seq, f.Entry)
			if err != nil {
				return err
			}
			if rights.HasEffect(f) != (reason == nil) {
				p.t.Errorf("act %d of log %s: %v", f.Seq, f.Log, reason)
			}
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
}
