package replica

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/evidence"
)

// quorumPeers returns two of the four roots of a space whose quorum is two, and a server that
// both have granted to make checkpoints. The first root and the server have tried to agree alone.
func quorumPeers(t *testing.T) (a, b, server *peer) {
	t.Helper()
	roots := testRoots()
	a = newPeerOf(t, nil, []DeviceID{roots[1], roots[4], roots[6], roots[7]}, 2)
	b, server = newPeer(t, a), newGuest(t, a)
	a.grant(server, Write|Checkpoint)
	granted := EntryID{a.logID(), a.lengthOf(a.logID()) - 1}
	together(t, a, b)
	endorse := func(p *peer) {
		p.update(func(tx *stoat.Tx) error { return p.space.Endorse(tx, granted) })
	}
	endorse(a) // its own grant
	endorse(a)
	endorse(b)
	for id := range int64(20) {
		a.put(task{ID: id, Title: "t", Votes: int32(id)})
	}
	together(t, a, b, server)
	at := entry.Head{Log: entry.Hash(granted.Log), Seq: granted.Seq}
	server.inTx(func(tr *txn) error { // which is no root
		log, _, err := tr.logNumber(at.Log)
		if err != nil {
			return err
		}
		hash, err := tr.hashOf(log, at.Seq)
		if err != nil {
			return err
		}
		next, err := tr.nextOwn()
		if err != nil {
			return err
		}
		act := &entry.Act{Endorse: &entry.Endorse{Act: at, Hash: hash}}
		return tr.issue(next, act.Entry())
	})
	write(a, b, server) // all have seen the grant, so a checkpoint covers it
	together(t, a, b, server)
	write(a, b, server)
	together(t, a, b, server)
	return a, b, server
}

// counts makes a replica make a checkpoint that counts, and prune.
func counts(t *testing.T, p *peer, others ...*peer) {
	t.Helper()
	before := p.checkpoints()
	must(t, p.checkpoint())
	all := append([]*peer{p}, others...)
	for range 2 {
		together(t, all...)
		write(others...)
	}
	together(t, all...)
	if p.checkpoints() == before {
		t.Fatal("the checkpoint does not count")
	}
	must(t, p.space.Prune())
}

// write makes each replica store another record.
func write(all ...*peer) {
	for _, p := range all {
		p.put(task{ID: 1000 + int64(p.lengthOf(p.logID())), Title: p.space.device.ID().String()})
	}
}

// A replica of a space with a quorum starts with a checkpoint by a device to which enough roots
// have granted to make it.
func TestStart_withAQuorum(t *testing.T) {
	a, b, server := quorumPeers(t)
	counts(t, server, a, b)
	server.put(task{ID: 50, Title: "behind"})
	late := newPeer(t, a) // another root
	startWith(t, server, late)
	together(t, server, late, a, b)
	if late.get(19) == nil || late.get(50) == nil || len(late.covered()) == 0 {
		t.Error("it has not started with the checkpoint")
	}
	late.put(task{ID: 51, Title: "late"})
	together(t, server, late, a, b)
	counts(t, server, a, b, late) // goes on with the new replica among the voters
	next := newPeer(t, a)
	startWith(t, late, next) // which gives what it was given
	together(t, late, next, server, a, b)
}

// An offer with the grant of one root is refused, also if that root agrees again, or others agree
// that are no roots.
func TestAttack16_startWithoutTheQuorum(t *testing.T) {
	a, b, server := quorumPeers(t)
	counts(t, server, a, b)
	victim := newPeer(t, a)
	without := func(device DeviceID, all [][]byte) [][]byte {
		return slices.DeleteFunc(slices.Clone(all), func(p []byte) bool {
			run, err := evidence.Parse(p)
			must(t, err)
			proven, err := victim.space.check(run)
			must(t, err)
			return proven.Device == device
		})
	}
	honest := server.offered(victim)
	for name, c := range map[string]struct {
		evidence [][]byte
		missing  string
	}{
		"one root": {without(b.space.device.ID(), honest.Evidence), "1 of 2 roots"},
		"one root twice": {slices.Concat(without(b.space.device.ID(), honest.Evidence),
			without(b.space.device.ID(), honest.Evidence)), "1 of 2 roots"},
		"no grant": {without(a.space.device.ID(), honest.Evidence), "no grant of Checkpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.evidence) == len(honest.Evidence) {
				t.Fatal("nothing is left out")
			}
			o := *honest
			o.Evidence = c.evidence
			_, reason, err := endpoint{victim.space}.Begin(&o, server.space.device.ID())
			must(t, err)
			if !errors.Is(reason, errQuorum) || !strings.Contains(reason.Error(), c.missing) {
				t.Errorf("got %v", reason)
			}
			if err := (endpoint{victim.space}).installOffer(1, &o); !errors.Is(err, errQuorum) {
				t.Errorf("got %v", err)
			}
		})
	}
	together(t, server, victim, a, b)
}

// A root whose checkpoint counts by the votes of others needs a grant for others to start with it.
func TestStart_withARootOfAQuorum(t *testing.T) {
	a, b, server := quorumPeers(t)
	counts(t, a, b, server)
	victim := newPeer(t, a)
	_, reason, err := endpoint{victim.space}.Begin(a.offered(victim), DeviceID{})
	must(t, err)
	if !errors.Is(reason, errQuorum) || !strings.Contains(reason.Error(), "no grant") {
		t.Errorf("got %v", reason)
	}
	together(t, b, victim) // takes all entries
	a.grant(a, Write|Checkpoint)
	granted := EntryID{a.logID(), a.lengthOf(a.logID()) - 1}
	together(t, a, b, server, victim)
	b.update(func(tx *stoat.Tx) error { return b.space.Endorse(tx, granted) })
	together(t, a, b, server, victim)
	write(a, b, server, victim)
	together(t, a, b, server, victim)
	counts(t, a, b, server, victim)
	startWith(t, a, newPeer(t, a))
}
