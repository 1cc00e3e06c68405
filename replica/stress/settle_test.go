package stress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// settle brings all replicas together, and compares them.
func (w *world) settle() {
	w.ctx, w.stop = context.WithTimeout(context.Background(), 2*time.Minute)
	defer w.stop()
	w.settling = true
	w.counts.Clear()
	w.grant()
	founder := w.founder.life.Load()
	const most = 40 // rounds, which is far more than it takes
	for range most {
		before := w.vectors()
		w.together(1)
		n, err := founder.adopt()
		if w.failed(err, "adopt") {
			return
		}
		after := w.vectors()
		if n == 0 && same(after) && slices.EqualFunc(before, after, maps.Equal) {
			w.compare(founder)
			if w.t.Failed() {
				w.failed(founder.db.View(func(tx *stoat.Tx) error { return w.explain(tx, founder) }), "explain")
			}
			return
		}
		if w.ctx.Err() != nil {
			break
		}
	}
	w.log()
	w.failed(errors.New("the replicas do not settle"), "%s", w.describe())
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

// same reports whether all replicas have the same.
func same(all []replica.Vector) bool {
	for _, v := range all[1:] {
		if !maps.Equal(all[0], v) {
			return false
		}
	}
	return true
}

// compare checks that all replicas, and one that is made from a file, have the same, and all that
// was acknowledged.
func (w *world) compare(founder *life) {
	rebuilt := w.rebuild(founder)
	if rebuilt == nil {
		return
	}
	all := []*life{rebuilt}
	var acked []string
	for _, m := range w.members {
		all = append(all, m.life.Load())
		acked = append(acked, m.acked...)
	}
	w.t.Logf("%d items", len(acked))
	root, items, err := founder.roots()
	w.failed(err, "root")
	for _, l := range all {
		if l.m.right == replica.Relay {
			continue
		}
		r, i, err := l.roots()
		w.failed(err, "root of %s", l.m.name)
		if i != items || l.m.opts.Collections == nil && r != root {
			w.failed(errors.New("has another root"), "%s\n%s", l.m.name, w.describe())
		}
		w.failed(l.db.View(l.count), "count %s", l.m.name)
		w.failed(l.verify(), "verify %s", l.m.name)
		w.failed(l.db.Check(w.ctx), "check %s", l.m.name)
		w.failed(l.has(acked), "%s", l.m.name)
	}
	w.failed(rebuilt.close(), "close")
}

// rebuild returns a new replica with what a file has that another one has exported.
func (w *world) rebuild(from *life) *life {
	var file bytes.Buffer
	w.failed(replica.Export(w.ctx, from.space, &file), "export")
	db, err := stoat.OpenMemory(nil)
	w.failed(err, "open")
	id := from.space.ID()
	device, err := replica.NewDevice()
	w.failed(err, "device")
	l, err := (&member{name: "rebuilt", device: device, id: &id}).open(db, nil)
	if w.failed(err, "rebuild") {
		return nil
	}
	w.failed(replica.Import(w.ctx, l.space, &file), "import")
	return l
}

// roots returns the roots of a replica that holds content: of the space, and of the items.
func (l *life) roots() (root, items [32]byte, err error) {
	err = l.db.View(func(tx *stoat.Tx) (err error) {
		if l.m.opts.Collections == nil {
			root, err = l.space.Root(tx)
		}
		if err == nil {
			items, err = l.space.CollectionRoot(tx, "items")
		}
		return err
	})
	return root, items, err
}

// has returns an error if items are lost that were acknowledged.
func (l *life) has(acked []string) error {
	return l.db.View(func(tx *stoat.Tx) error {
		for _, key := range acked {
			has, err := l.items.Has(tx, key)
			if err != nil {
				return err
			}
			if !has {
				return fmt.Errorf("%s is lost, which was acknowledged", key)
			}
		}
		return nil
	})
}
