package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/replica"
)

// world is some replicas of a space, and what goes on between them.
type world struct {
	t       *testing.T
	root    string
	trusted bool
	forks   bool    // folders are copied; else there are checkpoints
	founder *member // is never pruned, and never restored
	guest   replica.DeviceID
	items   atomic.Uint64 // the number of the last item

	mu       sync.RWMutex
	members  []*member
	settling bool
	olds     []*life // that another writer has fenced

	group  sync.WaitGroup
	counts sync.Map // what was seen → *atomic.Int64
	ctx    context.Context
	stop   context.CancelFunc
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	w := &world{t: t, root: t.TempDir(), trusted: rng.IntN(2) == 0, forks: rng.IntN(8) == 0}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.founder = w.add("founder", 0, nil)
	w.founder.opts.Trusted = w.trusted
	w.begin(w.founder, nil, nil)
	w.addOthers(rng)
	id := w.founder.life.Load().space.ID()
	for _, m := range w.members[1:] {
		m.id = &id
		w.begin(m, nil, nil)
	}
	w.grant()
	all := w.members
	if rng.IntN(2) == 0 {
		w.members = all[:2] // the others are late
	}
	w.together(2) // or two could make checkpoints without knowing of each other
	for _, m := range w.members {
		if m.right != replica.Relay {
			w.failed(w.addItem(m.life.Load(), rng), "a first item")
		}
	}
	w.together(2)
	w.members = all
	return w
}

// addOthers adds the members that join the founder.
func (w *world) addOthers(rng *rand.Rand) {
	server := w.add("server", replica.Admin|replica.Checkpoint|replica.Invite, nil)
	server.prunes = true
	w.add("phone", replica.Write, []string{"items"})
	if rng.IntN(2) == 0 {
		cloud := w.add("cloud", replica.Write, nil)
		cloud.store, cloud.prunes = memstore.New(), rng.IntN(2) == 0
	}
	if w.trusted {
		visitor := w.add("visitor", replica.Write, nil)
		visitor.prunes, visitor.writes = true, false
		return
	}
	switch rng.IntN(3) {
	case 0:
		w.guest = w.add("guest", replica.Write, nil).device.ID()
	case 1:
		w.add("relay", replica.Relay, nil)
	}
}

// add adds a member that writes.
func (w *world) add(name string, right replica.Right, collections []string) *member {
	device, err := replica.NewDevice()
	if err != nil {
		w.t.Fatal(err)
	}
	m := &member{name: name, device: device, right: right, writes: true}
	m.opts.Collections = collections
	m.dir = m.nextDir(w.root)
	w.members = append(w.members, m)
	return m
}

// begin begins a life of a member.
func (w *world) begin(m *member, db *stoat.DB, inStore *remote.DB) *life {
	l, err := m.open(db, inStore)
	if w.failed(err, "begin %s", m.name) {
		return nil
	}
	m.life.Store(l)
	l.work.Go(func() { w.watch(l) })
	return l
}

// grant gives all devices their rights.
func (w *world) grant() {
	if w.trusted {
		return
	}
	l := w.founder.life.Load()
	w.failed(l.db.Update(func(tx *stoat.Tx) error {
		for _, m := range w.members {
			if m == w.founder {
				continue
			}
			if err := l.space.Grant(tx, m.device.ID(), m.right); err != nil {
				return err
			}
		}
		return nil
	}), "grant")
}

// any returns a replica that is open, or nil.
func (w *world) any(rng *rand.Rand) *life {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if len(w.olds) > 0 && rng.IntN(10) == 0 {
		return w.olds[rng.IntN(len(w.olds))]
	}
	return w.members[rng.IntN(len(w.members))].life.Load()
}

// failed fails the test unless an error is nil.
func (w *world) failed(err error, format string, args ...any) bool {
	if err == nil {
		return false
	}
	w.t.Errorf("%s: %v", fmt.Sprintf(format, args...), err)
	w.stop()
	return true
}

var digits = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// seen counts what happened.
func (w *world) seen(what string) {
	n, _ := w.counts.LoadOrStore(digits.ReplaceAllString(what, "#"), new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// log logs what happened.
func (w *world) log() {
	var all []string
	w.counts.Range(func(what, n any) bool {
		all = append(all, fmt.Sprintf("%6d %s", n.(*atomic.Int64).Load(), what))
		return true
	})
	slices.Sort(all)
	for _, line := range all {
		w.t.Log(line)
	}
}
