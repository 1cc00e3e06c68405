package replica

import (
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/model"
)

var (
	historySeed = flag.Uint64("seed", 0, "the first random history")
	histories   = flag.Uint64("histories", 60, "how many random histories to try")
)

// history is a random history of some replicas.
type history struct {
	t     *testing.T
	rng   *rand.Rand
	peers []*peer

	rights bool // most devices are no roots, and acts happen
}

func TestHistory_equalsTheModel(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(seed uint64) {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 16))}
		h.run()
	})
}

// eachHistory runs random histories. It says how to repeat the one that fails, however it ends.
func eachHistory(t *testing.T, run func(seed uint64)) {
	t.Helper()
	n := *histories
	if testing.Short() {
		n = min(n, 20)
	}
	seed := *historySeed
	defer func() {
		if t.Failed() {
			t.Logf("repeat it with -run '^%s$' -seed %d -histories 1", t.Name(), seed)
		}
	}()
	for ; seed < *historySeed+n; seed++ {
		if run(seed); t.Failed() {
			return
		}
	}
	t.Logf("trust: %d histories of replicas", n)
}

func (h *history) run() {
	h.peers = []*peer{h.found()}
	for range 1 + h.rng.IntN(6) {
		h.peers = append(h.peers, newPeer(h.t, h.peers[0]))
	}
	for range 10 + h.rng.IntN(60) {
		p := h.any()
		if h.rights && h.rng.IntN(3) == 0 {
			h.act(p)
			continue
		}
		switch n := h.rng.IntN(16); {
		case n < 6:
			h.write(p)
		case n < 8:
			h.deliver(h.any(), p)
		case n < 9:
			if q := h.any(); q != p {
				meet(h.t, p, q)
			}
		case n < 10:
			p.now = p.now.Add(time.Duration(h.rng.IntN(240)-120) * time.Second)
		case n < 11:
			h.compare(p)
		case n < 12:
			h.checkpoint()
		case n < 13:
			h.adoptSome(p)
		case n < 14:
			h.revertSome(p)
		case n < 15:
			h.repeat(p)
		default:
			h.reopen(p)
		}
	}
	for range 3 {
		for _, p := range h.peers {
			p.now = noon.Add(time.Hour)
			if p != h.peers[0] {
				meet(h.t, h.peers[0], p)
			}
		}
	}
	h.compare(h.peers[0])
	agree(h.t, h.peers...)
	h.replay(h.any())
	for _, p := range h.peers {
		if w := p.waiting(); len(w) > 0 {
			h.t.Errorf("%d runs still wait: %v", len(w), w[0])
		}
		if got := all(p); !reflect.DeepEqual(got, all(h.peers[0])) {
			h.t.Errorf("the records differ: %v instead of %v", got, all(h.peers[0]))
		}
	}
	for _, p := range h.peers {
		p.close()
	}
}

func (h *history) any() *peer { return h.peers[h.rng.IntN(len(h.peers))] }

// all returns all tasks of a replica.
func all(p *peer) (list []task) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		for v, err := range p.tasks.All(tx) {
			if err != nil {
				return err
			}
			list = append(list, *v)
		}
		n, err := p.tasks.Count(tx)
		if int(n) != len(list) {
			p.t.Errorf("%d records, and a count of %d", len(list), n)
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	return list
}

// write changes some records in one transaction, which may be rolled back.
func (h *history) write(p *peer) {
	rollback := h.rng.IntN(8) == 0
	err := p.db.Update(func(tx *stoat.Tx) error {
		for range 1 + h.rng.IntN(3) {
			id := int64(1 + h.rng.IntN(3))
			v, err := p.tasks.Get(tx, id)
			if err != nil {
				v = &task{ID: id}
			}
			if h.rng.IntN(5) == 0 {
				err = p.tasks.Delete(tx, id)
			} else {
				h.mutate(v)
				err = p.tasks.Put(tx, v)
			}
			if err != nil {
				return err
			}
		}
		if rollback {
			return stoat.ErrTxClosed
		}
		return nil
	})
	if err != nil && !rollback && !(h.rights && errors.Is(err, ErrNotAllowed)) {
		h.t.Error(err)
	}
}

// mutate changes a few fields of a task.
func (h *history) mutate(v *task) {
	words := []string{"", "a", "b\x00", "c"}
	for range h.rng.IntN(4) {
		n := h.rng.IntN(4)
		switch h.rng.IntN(9) {
		case 0:
			v.Title = words[n]
		case 1:
			v.Note = words[n]
		case 2:
			v.Done = !v.Done
		case 3:
			v.Votes += int32(n) - 2
		case 4:
			v.Best = int64(h.rng.IntN(20) - 10)
		case 5:
			v.First = int64(h.rng.IntN(20) - 10)
		case 6:
			v.Tags = append(v.Tags, words[n])
		case 7:
			v.Tags = nil
		default:
			if v.Prices == nil || n == 0 {
				v.Prices = map[string]int64{}
			}
			v.Prices[words[n]] = int64(n)
		}
	}
}

// deliver gives a replica some runs of another one, in any order and more than once.
func (h *history) deliver(from, to *peer) {
	if err := from.space.Seal(); err != nil {
		h.t.Error(err)
	}
	from.sealAtOnce(h.rng.IntN(2) == 0)
	var runs []*run
	err := from.db.View(func(tx *stoat.Tx) error {
		t, err := from.space.in(tx)
		if err != nil {
			return err
		}
		heads, err := t.sealedHeads()
		for _, head := range heads {
			for err == nil && h.rng.IntN(3) > 0 {
				var r *run
				r, err = t.runFrom(head, h.rng.Uint64N(head.sealed))
				runs = append(runs, r)
			}
		}
		return err
	})
	h.rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	for len(runs) > 0 && err == nil {
		n := 1 + h.rng.IntN(len(runs))
		err = to.space.apply(runs[:n])
		runs = runs[n:]
	}
	if err != nil {
		h.t.Error(err)
	}
}

// reopen opens the space of a replica again, without what waits, and perhaps without its records.
func (h *history) reopen(p *peer) {
	s, err := Open(p.db, "team", p.options())
	if err != nil {
		h.t.Fatal(err)
	}
	p.space = s
	if h.rng.IntN(2) == 0 {
		h.deliver(h.any(), p)
	}
	p.open()
}

// checkpoint makes a checkpoint by a replica that knows that the first one has a say.
func (h *history) checkpoint() {
	n := h.rng.IntN(len(h.peers))
	p, other := h.peers[n], h.peers[0] // any two have a voter in common
	if n == 0 {
		other = h.peers[1]
	}
	knows := false
	err := p.db.View(func(tx *stoat.Tx) error {
		heads, err := p.space.Heads(tx)
		for _, head := range heads {
			knows = knows || head.Device == other.space.device.ID() && head.Entries > 1
		}
		return err
	})
	if err == nil && knows {
		err = p.checkpoint()
	}
	if err != nil && !errors.Is(err, ErrNoCheckpoint) && !errors.Is(err, ErrNotAllowed) {
		h.t.Error(err)
	}
}

// compare compares a replica with the model. Its votes count once they are sealed.
func (h *history) compare(p *peer) {
	if err := p.space.Seal(); err != nil {
		h.t.Error(err)
	}
	facts := factsOf(p)
	about := p.about()
	rights, err := model.NewRights(about, facts)
	if err != nil {
		h.t.Fatal(err)
	}
	counting, err := rights.Counting(facts)
	if err != nil {
		h.t.Fatal(err)
	}
	want, err := model.Root(p.space.id, about, counting)
	if err != nil {
		h.t.Error(err)
	}
	p.compareActs(rights, facts)
	p.checkVoids()
	if got := p.root(); got != want {
		h.t.Errorf("after %d entries, the root is not that of the model", len(facts))
	}
}

// factsOf returns all entries of a replica.
func factsOf(p *peer) (facts []model.Fact) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		for key := range t.meta.Keys(stoat.Prefix([]byte(prefixLog))) {
			h, err := t.head(binary.BigEndian.Uint32(key[len(prefixLog):]))
			if err != nil {
				return err
			}
			for seq := range h.next {
				sent, err := t.sent(h.number, seq)
				if err != nil {
					return err
				}
				e, err := entry.Parse(append([]byte{}, sent...))
				if err != nil {
					return err
				}
				hash, err := t.hashOf(h.number, seq)
				if err != nil {
					return err
				}
				facts = append(facts, model.Fact{Log: h.id, Seq: seq, Hash: hash, Entry: e})
			}
		}
		return tx.Err()
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return facts
}
