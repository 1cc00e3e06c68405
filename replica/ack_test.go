package replica

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/model"
)

// Replicas that have written once and then only read say what they have seen, so a checkpoint can
// cover it; and then they come to rest, however often they meet.
func TestAck_idleReplicasComeToRest(t *testing.T) {
	a := newPeer(t, nil)
	peers := []*peer{a}
	for range 9 {
		peers = append(peers, newPeer(t, a))
	}
	everyoneMeets := func(after time.Duration) {
		for _, p := range peers {
			p.now = p.now.Add(after)
		}
		for i, p := range peers {
			for _, q := range peers[i+1:] {
				meet(t, p, q)
			}
		}
	}
	for i, p := range peers {
		p.put(task{ID: int64(i), Title: "once"})
	}
	everyoneMeets(0)
	for id := range int64(20) {
		a.put(task{ID: 100 + id, Title: "alone"})
	}
	everyoneMeets(time.Minute)
	before := len(factsOf(a))
	everyoneMeets(time.Minute)
	if after := len(factsOf(a)); after != before {
		t.Errorf("%d entries were made at once", after-before)
	}
	everyoneMeets(25 * time.Hour)
	everyoneMeets(time.Minute)
	acks := len(factsOf(a)) - before
	if acks < len(peers)-1 || acks > len(peers) {
		t.Errorf("%d replicas have made %d entries", len(peers), acks)
	}
	for range 3 {
		everyoneMeets(25 * time.Hour)
	}
	if again := len(factsOf(a)) - before; again != acks {
		t.Errorf("%d entries more are about entries that say what was seen", again-acks)
	}
	agree(t, peers...)
	if err := errors.Join(a.checkpoint(), a.space.Seal()); err != nil {
		t.Fatal(err)
	}
	everyoneMeets(25 * time.Hour)
	everyoneMeets(25 * time.Hour)
	everyoneMeets(time.Minute)
	for i, p := range peers {
		covered := uint64(0)
		for _, n := range p.covered() {
			covered += n
		}
		if covered < 40 { // 10 logs with an entry each, and 20 more
			t.Errorf("the checkpoint of replica %d covers %d entries", i, covered)
		}
	}
	agree(t, peers...)
}

// A replica that merges many entries at once says so at once, and one that has never written says
// nothing.
func TestAck_isForManyEntries(t *testing.T) {
	a := newPeer(t, nil)
	writer, reader := newPeer(t, a), newPeer(t, a)
	writer.put(task{ID: 2})
	a.put(task{ID: 1})
	for range ackEntries {
		a.edit(func(v *task) { v.Votes++ })
	}
	for range 2 {
		meet(t, a, writer)
		meet(t, a, reader)
	}
	if n := len(writer.own()); n != 3 {
		t.Errorf("the log of the writer has %d entries", n)
	}
	if n := len(reader.own()); n != 1 {
		t.Errorf("the log of the reader has %d entries", n)
	}
}

// own returns the entries of the own log.
func (p *peer) own() (own []model.Fact) {
	id := p.logID()
	return slices.DeleteFunc(factsOf(p), func(f model.Fact) bool { return LogID(f.Log) != id })
}
