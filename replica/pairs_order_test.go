package replica

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

var (
	ordersMax      = flag.Int("orders", 30, "how many orders of arrival to try of each scenario")
	orderSeed      = flag.Uint64("orders.seed", 0, "the first scenario of each pair of acts")
	orderScenarios = flag.Uint64("orders.scenarios", 1, "how many scenarios of each pair of acts")
)

// pairOfActs makes three logs with three acts each: of two kinds, and writes.
type pairOfActs struct {
	history
	kinds [2]string
	made  map[string]int // how many of each kind
	// chains are what arrives, each in its order: the runs of a log by act, or a branch of it.
	chains [][][]*run
	before []*run // arrive first
}

// Every pair of acts happens in three logs of three entries. They arrive at a replica in every
// order, or in some that are spread evenly, and always mean the same: what the model says.
func TestPairsOfActs_inEveryOrder(t *testing.T) {
	t.Parallel()
	kinds := []string{"grant", "revoke", "write", "fork", "checkpoint"}
	total := 0
	for seed := *orderSeed; seed < *orderSeed+*orderScenarios; seed++ {
		for i, kind := range kinds {
			for _, other := range kinds[i:] {
				total += onePair(t, seed, [2]string{kind, other})
			}
		}
	}
	t.Logf("%d orders of arrival", total)
}

// onePair tries orders of one scenario, and returns how many.
func onePair(t *testing.T, seed uint64, kinds [2]string) (arrived int) {
	s := scenarioOf(t, seed, kinds)
	defer s.close()
	total := 0
	eachOrder(s.chains, func([][]*run) { total++ })
	step := max(1, total / *ordersMax)
	var want *outcome
	n := 0
	eachOrder(s.chains, func(order [][]*run) {
		if n++; (n-1)%step != 0 {
			return
		}
		arrived++
		got := s.arrive(order, want == nil)
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("-orders.seed %d, %s and %s, order %d: %+v instead of %+v", seed, kinds[0],
				kinds[1], n, got, want)
		}
	})
	return arrived
}

// scenarioOf makes logs until both acts happen in them.
func scenarioOf(t *testing.T, seed uint64, kinds [2]string) *pairOfActs {
	t.Helper()
	for try := range uint64(1000) {
		s := &pairOfActs{kinds: kinds, made: map[string]int{}}
		s.t, s.rng = t, rand.New(rand.NewPCG(seed, 19+try))
		s.build()
		least := 1
		if kinds[0] == kinds[1] {
			least = 2
		}
		if min(s.made[kinds[0]], s.made[kinds[1]]) >= least {
			return s
		}
		s.close()
	}
	t.Fatalf("no scenario has %s and %s", kinds[0], kinds[1])
	return nil
}

func (s *pairOfActs) close() {
	for _, p := range s.peers {
		p.close()
	}
}

// build makes the logs: of a root, of an administrator, and of a device that may write.
func (s *pairOfActs) build() {
	s.t.Helper()
	founder, err := LoadDevice(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		s.t.Fatal(err)
	}
	a := newPeerOf(s.t, nil, []DeviceID{founder.ID()}, 1)
	b, c := newPeer(s.t, a), newPeer(s.t, a)
	s.peers = []*peer{a, b, c}
	a.update(func(tx *stoat.Tx) error {
		return errors.Join(a.space.Grant(tx, b.space.device.ID(), Admin|Checkpoint),
			a.space.Grant(tx, c.space.device.ID(), Write))
	})
	for _, p := range []*peer{b, c, b, c} {
		meet(s.t, a, p)
	}
	ends := make([][]uint64, 3)
	for i, p := range s.peers {
		p.put(task{ID: 1, Title: fmt.Sprint(i)})
		ends[i] = []uint64{s.seal(p)}
	}
	for _, p := range []*peer{b, c, b} {
		meet(s.t, a, p)
	}
	s.chains = make([][][]*run, 3)
	for range 3 {
		for i, p := range s.peers {
			p.now = p.now.Add(time.Duration(s.rng.IntN(3)) * time.Second)
			s.act(p)
			ends[i] = append(ends[i], s.seal(p))
		}
		if x := s.rng.IntN(4); x < 3 {
			meet(s.t, s.peers[x], s.peers[(x+1)%3])
		}
	}
	for i, p := range s.peers {
		s.collect(p, ends[i], i)
	}
}

// seal seals the log of a peer and returns its length.
func (s *pairOfActs) seal(p *peer) (end uint64) {
	s.t.Helper()
	if err := p.space.Seal(); err != nil {
		s.t.Fatal(err)
	}
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		if err == nil {
			end = h.next
		}
		return err
	})
	return end
}

// collect adds the runs of a log to what arrives, by the ends of its acts.
func (s *pairOfActs) collect(p *peer, ends []uint64, i int) {
	s.t.Helper()
	last := s.seal(p)
	s.chains[i] = make([][]*run, len(ends)-1)
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		for seq := uint64(0); seq < last && err == nil; {
			var r *run
			if r, err = t.runFrom(h, seq); err != nil {
				break
			}
			act := len(ends) - 2
			for act > 0 && seq < ends[act] {
				act--
			}
			if seq < ends[0] {
				s.before = append(s.before, r)
			} else {
				s.chains[i][act] = append(s.chains[i][act], r)
			}
			seq = r.end()
		}
		return err
	})
}

// act makes a peer do one of the acts, or write.
func (s *pairOfActs) act(p *peer) {
	s.t.Helper()
	kind := []string{s.kinds[0], s.kinds[1], "write"}[s.rng.IntN(3)]
	err := p.db.Update(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		return s.do(tx, t, p, kind)
	})
	if err == nil {
		s.made[kind]++
		if kind != "fork" {
			return
		}
	} else if !errors.Is(err, ErrNotAllowed) && !errors.Is(err, errNoGrant) &&
		!errors.Is(err, ErrNoCheckpoint) {
		s.t.Fatal(err)
	}
	p.inTx(s.trespass)
}

func (s *pairOfActs) do(tx *stoat.Tx, t *txn, p *peer, kind string) error {
	switch kind {
	case "grant":
		to := s.any().space.device.ID()
		return p.space.Grant(tx, to, []Right{Write, Write | Checkpoint, Admin}[s.rng.IntN(3)])
	case "revoke":
		grants, _, err := acts(t)
		if err != nil {
			return err
		}
		return p.space.RevokeGrant(tx, grants[s.rng.IntN(len(grants))])
	case "checkpoint":
		return p.space.Checkpoint(tx)
	case "fork":
		return s.fork(t, p)
	}
	return s.trespass(t)
}

// fork makes another branch of the log of a peer, from its next entry on.
func (s *pairOfActs) fork(t *txn, p *peer) error {
	if n := s.made["fork"]; n == 2 || n == 1 && s.kinds[0] != s.kinds[1] {
		return errNoGrant // more make too many orders
	}
	if s.kinds[1] == "checkpoint" && p != s.peers[2] {
		return errNoGrant // two copies of a voter may vote for different checkpoints
	}
	h, err := t.ownHead()
	if err != nil {
		return err
	}
	prev := h.hash
	f := &forger{key: p.space.device.key, space: p.space.id, log: h.id, seq: h.next, prev: prev,
		run: &run{log: h.id, first: h.next, prev: &prev}}
	e := data(0, "another branch")
	e.Time = max(h.time, hlc.At(p.now)) + 1<<20
	f.add(e)
	s.chains = append(s.chains, [][]*run{{f.run}})
	return nil
}

// outcome is what a replica makes of entries, except what depends on the order of arrival.
type outcome struct {
	root    [32]byte
	covered map[entry.Hash]uint64
	cuts    map[entry.Hash]uint64
	waits   int
}

// arrive returns the outcome of an order of arrival. What a replica dropped because it knew nothing
// of its branch comes again.
func (s *pairOfActs) arrive(order [][]*run, modelled bool) *outcome {
	s.t.Helper()
	s.peers[0].joined = 50
	p := newPeer(s.t, s.peers[0])
	defer p.close()
	p.now = noon.Add(time.Hour)
	p.take(s.before...)
	for range 2 {
		for _, runs := range order {
			p.take(runs...)
		}
	}
	got := &outcome{root: p.root(), covered: map[entry.Hash]uint64{}, cuts: map[entry.Hash]uint64{},
		waits: len(p.waiting())}
	covers := p.covered()
	p.inTx(func(t *txn) error {
		heads, err := t.allHeads()
		for _, h := range heads {
			if covers[h.number] > 0 {
				got.covered[h.id] = covers[h.number]
			}
			if h.cut > 0 {
				got.cuts[h.id] = h.cut
			}
		}
		return err
	})
	p.checkVoids()
	if modelled {
		agreeWithModel(s.t, p)
	}
	return got
}
