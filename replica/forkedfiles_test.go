package replica

import (
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// branches returns two replicas that have different branches of a log, which begin with entry 2.
func branches(t *testing.T, more int) (a, b *peer, log entry.Hash) {
	t.Helper()
	a = newPeer(t, nil)
	b = newPeer(t, a)
	f := newForger(a)
	f.add(data(1, "a"))
	branch := *f
	branch.run = &run{log: f.log, first: f.seq}
	for i := range 2 {
		f.add(data(2+i, "here"))
	}
	must(t, a.space.apply([]*run{f.run}))
	first := &run{log: f.log, entries: f.run.entries[:2]}
	hash := branch.prev
	first.seal = [64]byte(ed25519.Sign(f.key, entry.AppendSealed(nil, &f.space, &f.log, 1, &hash)))
	for i := range more {
		branch.add(data(2+i, "there"))
	}
	must(t, b.space.apply([]*run{first, branch.run}))
	return a, b, f.log
}

// Files and requests find forks like sessions do, and carry the proofs.
func TestForks_byFilesAndRequests(t *testing.T) {
	for name, bring := range map[string]func(from, to *peer) error{
		"files": func(from, to *peer) error { return to.load(from.export(nil)) },
		"requests": func(from, to *peer) error {
			return Post(t.Context(), to.space, from.web(nil).URL, nil)
		},
	} {
		for _, more := range []int{1, 2, 3} {
			a, b, log := branches(t, more)
			for i := range 2 {
				for _, way := range [][2]*peer{{a, b}, {b, a}} {
					err := bring(way[0], way[1])
					if err != nil && (i > 0 || !errors.Is(err, ErrMissing)) {
						t.Errorf("%s, %d entries: %v", name, more, err)
					}
				}
			}
			if here, there := a.cutOf(log), b.cutOf(log); here != 2 || there != 2 {
				t.Errorf("%s, %d entries: the log is cut at %d here, and at %d there", name, more, here,
					there)
			}
			agree(t, a, b)
			c := newPeer(t, a)
			must(t, c.load(a.export(nil)))
			agree(t, a, c)
		}
	}
}
