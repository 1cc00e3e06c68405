package replica

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// Three logs of three runs arrive at a replica in every order, also in those in which entries come
// before what they follow: the state is always the same, and nothing waits in the end.
func TestApply_inEveryOrder(t *testing.T) {
	t.Parallel()
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	peers := []*peer{a, b, c}
	changes := []func(v *task){
		func(v *task) { v.Title, v.Votes, v.Tags = "a", 1, []string{"x"} },
		func(v *task) { v.Note, v.Best, v.Tags = "b", 5, nil },
		func(v *task) { v.Title, v.Votes, v.First = "c", -1, -3 },
	}
	for round := range 3 {
		for i, p := range peers {
			p.now = noon.Add(time.Duration(7*i+round) * time.Second)
			if round == 1 && i == 2 {
				p.update(func(tx *stoat.Tx) error { return p.tasks.Delete(tx, 1) })
			} else {
				v := p.get(1)
				if v == nil {
					v = &task{ID: 1}
				}
				changes[(round+i)%3](v)
				v.Prices = map[string]int64{"p": int64(round)}
				p.put(*v)
			}
			if err := p.space.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		meet(t, peers[round], peers[(round+1)%3])
	}
	for _, p := range []*peer{b, c, b} {
		meet(t, a, p)
	}
	agree(t, peers...)
	logs := runsOf(t, a)
	if len(logs) != 3 || len(logs[0]) != 3 || len(logs[1]) != 3 || len(logs[2]) != 3 {
		t.Fatal("the logs do not have three runs each")
	}
	n := 0
	step := 1
	if testing.Short() {
		step = 40
	}
	eachOrder(logs, func(order []*run) {
		if n++; n%step == 0 {
			arrive(t, a, order)
		}
	})
	if n != 1680 {
		t.Errorf("%d orders", n)
	}
}

// arrive compares a replica that gets runs in an order with the one that they are from.
func arrive(t *testing.T, from *peer, order []*run) {
	t.Helper()
	from.joined = 50
	p := newPeer(t, from)
	defer p.close()
	p.now = noon.Add(time.Minute)
	for _, r := range order {
		if err := p.space.apply([]*run{r}); err != nil {
			t.Fatal(err)
		}
	}
	agree(t, from, p)
	if w := p.waiting(); len(w) > 0 {
		t.Fatalf("%v waits", w[0])
	}
}

// runsOf returns the runs of the logs of a replica that have more than a genesis entry.
func runsOf(t *testing.T, p *peer) (logs [][]*run) {
	t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		heads, err := n.sealedHeads()
		for _, h := range heads {
			var runs []*run
			for seq := uint64(0); seq < h.sealed && err == nil; {
				var r *run
				if r, err = n.runFrom(h, seq); err == nil {
					runs, seq = append(runs, r), r.end()
				}
			}
			logs = append(logs, runs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return logs
}
