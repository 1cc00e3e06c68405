package replica

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

var (
	forkSeed  = flag.Uint64("forkseed", 0, "the first random history with forks")
	forkCount = flag.Uint64("forks", 30, "how many random histories with forks to try")
)

// Replicas are copied with their folders, and all copies go on and meet others at random. In the
// end, all have the same state, that of the model, and nothing that was written is lost: every
// increment counts once.
func TestForks_ofCopiesEqualTheModel(t *testing.T) {
	t.Parallel()
	count := *forkCount
	if testing.Short() {
		count = min(count, 8)
	}
	for seed := *forkSeed; seed < *forkSeed+count; seed++ {
		forkHistory(t, rand.New(rand.NewPCG(seed, 5)))
		if t.Failed() {
			t.Fatalf("repeat it with -run TestForks_of -forkseed %d -forks 1", seed)
		}
	}
	t.Logf("trust: %d histories of replicas", count)
}

func forkHistory(t *testing.T, rng *rand.Rand) {
	a := newPeer(t, nil)
	peers := []*peer{a, newPeer(t, a), newPeer(t, a)}
	for _, p := range peers[1:] {
		meet(t, a, p)
	}
	votes := 0
	for range 15 + rng.IntN(40) {
		p := peers[rng.IntN(len(peers))]
		p.now = p.now.Add(time.Duration(rng.IntN(3)) * time.Second)
		switch n := rng.IntN(10); {
		case n < 5:
			id := int64(rng.IntN(3))
			v := p.get(id)
			if v == nil {
				v = &task{ID: id}
			}
			v.Votes++
			// Copies that write the same at the same time would write one entry.
			v.Title = fmt.Sprintf("%c%d", 'a'+rng.IntN(26), votes)
			if rng.IntN(4) == 0 {
				v.Tags = append(v.Tags, v.Title)
			}
			p.put(*v)
			votes++
		case n < 8:
			if q := peers[rng.IntN(len(peers))]; q != p {
				meet(t, p, q)
			}
		case n < 9 && len(peers) < 6:
			dir := filepath.Join(t.TempDir(), "copy")
			if err := p.db.Backup(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			peers = append(peers, p.copyIn(dir))
		default:
			agreeWithModel(t, p)
		}
	}
	for range 4 {
		for i, p := range peers {
			for _, q := range peers[i+1:] {
				p.now, q.now = noon.Add(time.Hour), noon.Add(time.Hour)
				meet(t, p, q)
			}
		}
	}
	agree(t, peers...)
	for _, p := range peers {
		agreeWithModel(t, p)
		p.checkVoids()
		if w := p.waiting(); len(w) > 0 {
			t.Errorf("%v still waits", w[0])
		}
		got := 0
		for _, v := range all(p) {
			got += int(v.Votes)
		}
		if got != votes {
			t.Errorf("%d of %d votes", got, votes)
		}
	}
	for _, p := range peers {
		p.close()
	}
}
