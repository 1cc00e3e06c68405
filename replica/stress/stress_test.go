package stress

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

var (
	seed    = flag.Uint64("stress.seed", 0, "where random choices start; 0: anywhere")
	rounds  = flag.Int("stress.rounds", 0, "how often everything begins anew")
	lasting = flag.Duration("stress.for", 500*time.Millisecond, "how long replicas work each time")
)

func TestReplicas_ofWhichEverythingIsAskedAtOnce(t *testing.T) {
	if *rounds == 0 {
		t.Skip("needs -stress.rounds, since what it finds depends on timing")
	}
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	for i := range uint64(*rounds) {
		if !t.Run(fmt.Sprint(from+i), func(t *testing.T) { stress(t, from+i) }) {
			break
		}
	}
}

// files returns how many files of a folder the process has open.
func files(root string) (n int) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, f := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.HasPrefix(to, root) {
			n++
		}
	}
	return n
}

// stress has replicas work, and checks what becomes of it.
func stress(t *testing.T, seed uint64) {
	goroutines := runtime.NumGoroutine()
	rng := rand.New(rand.NewPCG(seed, 1))
	next := func() *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), 2)) }
	w := newWorld(t, rng)
	defer w.stop()
	t.Logf("%d members, trusted %v, forks %v", len(w.members), w.trusted, w.forks)
	for _, m := range w.members {
		for range 2 {
			r := next()
			w.group.Go(func() { w.program(m, r) })
		}
	}
	for range 2 + rng.IntN(6) {
		r := next()
		w.group.Go(func() { w.link(r) })
	}
	r := next()
	w.group.Go(func() { w.keep(r) })
	select {
	case <-time.After(*lasting):
	case <-w.ctx.Done():
	}
	w.stop()
	w.group.Wait()
	if !t.Failed() {
		w.settle()
	}
	for _, m := range w.members {
		if l := m.life.Load(); l != nil {
			w.failed(l.close(), "close %s", m.name)
		}
	}
	w.log()
	for range 2000 {
		if runtime.NumGoroutine() <= goroutines && files(w.root) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p := make([]byte, 1<<20)
	t.Errorf("%d goroutines instead of %d, %d files:\n%s", runtime.NumGoroutine(),
		goroutines, files(w.root), p[:runtime.Stack(p, true)])
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

// settle brings all replicas together, and compares them.
func (w *world) settle() {
	w.ctx, w.stop = context.WithTimeout(context.Background(), 2*time.Minute)
	defer w.stop()
	w.settling = true
	w.grant()
	founder := w.members[0].life.Load()
	settled := false
	for round := 0; !settled; round++ {
		before := w.vectors()
		w.together(1)
		if round == 38 {
			w.log()
			w.counts.Clear()
		}
		n, err := founder.adopt()
		if w.failed(err, "adopt") {
			return
		}
		after := w.vectors()
		settled = n == 0 && same(after) && slices.EqualFunc(before, after, maps.Equal)
		if round == 39 || w.ctx.Err() != nil {
			w.failed(errors.New("the replicas do not settle"), "%s", w.describe())
			return
		}
	}
	w.compare(founder)
	if w.t.Failed() {
		w.failed(founder.db.View(func(tx *stoat.Tx) error { return w.twice(tx, founder) }), "twice")
	}
}

// twice logs items that two entries count.
func (w *world) twice(tx *stoat.Tx, l *life) error {
	void := map[replica.EntryID]*replica.Void{}
	for v, err := range l.space.Void(tx) {
		if err != nil {
			return err
		}
		void[v.EntryID] = v
	}
	by := map[string][]string{}
	counted := map[string]int64{}
	heads, err := l.space.Heads(tx)
	if err != nil {
		return err
	}
	st, err := l.space.Status(tx)
	if err != nil {
		return err
	}
	w.t.Logf("covered %d", st.Covered)
	for _, h := range heads {
		name := ""
		for _, m := range w.members {
			if m.device.ID() == h.Device {
				name = m.name
			}
		}
		w.t.Logf("log %s of %s: %d", h.Log.String()[:6], name, h.Entries)
		for e, err := range l.space.Entries(tx, h.Log, 0, h.Entries) {
			if err != nil {
				return err
			}
			key, n := "", int64(0)
			for _, c := range e.Changes {
				if c.Collection != "items" {
					continue
				}
				k := c.Key[0].(string)
				for _, f := range c.Fields {
					if k == totalKey && f.Field == "count" {
						n, _ = f.Value.(int64)
					}
					if k != totalKey && f.Field == "owner" {
						key = k
					}
				}
			}
			why := ""
			if v := void[e.EntryID]; v != nil {
				why = fmt.Sprintf("void %v repeated %v: %s", v.Collections, v.Repeated, v.Reason)
			} else {
				counted[key] += n
			}
			if n != 0 || key != "" {
				by[key] = append(by[key], fmt.Sprintf("%s %d of %s at %s: %d %s", h.Log.String()[:6],
					e.Seq, name, e.Time.Format("05.000"), n, why))
			}
			if e.Act != "" {
				w.t.Logf("%s %d of %s at %s: %s %s", h.Log.String()[:6], e.Seq, name,
					e.Time.Format("05.000"), e.Act, why)
			}
		}
	}
	for key, all := range by {
		if counted[key] != 1 {
			w.t.Logf("%q:\n   %s", key, strings.Join(all, "\n   "))
		}
	}
	return nil
}

// vectors returns how many entries of each log replicas have that may count.
func (w *world) vectors() (all []replica.Vector) {
	for _, m := range w.members {
		l := m.life.Load()
		v := replica.Vector{}
		w.failed(errors.Join(l.space.Seal(), l.db.View(func(tx *stoat.Tx) error {
			heads, err := l.space.Heads(tx)
			for _, h := range heads {
				if v[h.Log] = h.Sealed; h.Cut > 0 {
					v[h.Log] = min(h.Sealed, h.Cut)
				}
			}
			return err
		})), "vector of %s", m.name)
		all = append(all, v)
	}
	return all
}

func same(all []replica.Vector) bool {
	for _, v := range all[1:] {
		if !maps.Equal(all[0], v) {
			return false
		}
	}
	return true
}

func (w *world) describe() string {
	var b bytes.Buffer
	all := w.vectors()
	for i, m := range w.members {
		l := m.life.Load()
		fmt.Fprintf(&b, "%s:", m.name)
		for log := range all[0] {
			fmt.Fprintf(&b, " %s %d", log.String()[:6], all[i][log])
		}
		_ = l.db.View(func(tx *stoat.Tx) error {
			st, err := l.space.Status(tx)
			fmt.Fprintf(&b, "\n   missing %+v withheld %+v start %v split %v checkpoints %d pruned %v %v\n",
				st.Missing, st.Withheld, st.Start, st.Split, st.Checkpoints, st.Pruned, err)
			for _, w := range st.Waiting {
				fmt.Fprintf(&b, "   waits %s %d: %v\n", w.Log.String()[:6], w.First, w.Reason)
			}
			for _, w := range st.Refusals {
				fmt.Fprintf(&b, "   refused %s %d: %v\n", w.Log.String()[:6], w.Seq, w.Reason)
			}
			return err
		})
	}
	return b.String()
}

// roots returns the roots of a replica: of the space, and of the items.
func (l *life) roots() (root, items [32]byte, err error) {
	err = l.db.View(func(tx *stoat.Tx) (err error) {
		if l.m.opts.Collections == nil && l.m.right != replica.Relay {
			root, err = l.space.Root(tx)
		}
		if err == nil && l.m.right != replica.Relay {
			items, err = l.space.CollectionRoot(tx, "items")
		}
		return err
	})
	return root, items, err
}

// compare checks that all replicas have the same, and all that was acknowledged.
func (w *world) compare(founder *life) {
	root, items, err := founder.roots()
	w.failed(err, "root")
	var file bytes.Buffer
	w.failed(replica.Export(w.ctx, founder.space, &file), "export")
	db, err := stoat.OpenMemory(nil)
	w.failed(err, "open")
	id := founder.space.ID()
	device, err := replica.NewDevice()
	w.failed(err, "device")
	rebuilt := &member{name: "rebuilt", device: device, id: &id}
	l, err := rebuilt.open(db, nil)
	if w.failed(err, "rebuild") {
		return
	}
	w.failed(replica.Import(w.ctx, l.space, &file), "import")
	all := []*life{l}
	for _, m := range w.members {
		all = append(all, m.life.Load())
	}
	acked := map[string]bool{}
	for _, m := range w.members {
		for _, key := range m.acked {
			acked[key] = true
		}
	}
	w.seen("acknowledged")
	w.t.Logf("%d items", len(acked))
	for _, l := range all {
		r, i, err := l.roots()
		w.failed(err, "root of %s", l.m.name)
		if l.m.right == replica.Relay {
			continue
		}
		if i != items || l.m.opts.Collections == nil && r != root {
			w.failed(errors.New("has another root"), "%s\n%s", l.m.name, w.describe())
		}
		w.failed(l.db.View(l.count), "count %s", l.m.name)
		w.failed(l.verify(), "verify %s", l.m.name)
		w.failed(l.db.Check(w.ctx), "check %s", l.m.name)
		lost := 0
		w.failed(l.db.View(func(tx *stoat.Tx) error {
			for key := range acked {
				has, err := l.items.Has(tx, key)
				if err != nil {
					return err
				}
				if !has {
					lost++
				}
			}
			return nil
		}), "look")
		if lost > 0 {
			w.failed(fmt.Errorf("%d acknowledged items of %d are lost", lost, len(acked)), "%s", l.m.name)
		}
	}
	w.failed(l.close(), "close")
}
