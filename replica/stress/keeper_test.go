package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/replica"
)

// keep closes, opens, copies and moves replicas until the end.
func (w *world) keep(rng *rand.Rand) {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(time.Duration(20+rng.IntN(200)) * time.Millisecond):
		}
		w.mu.RLock()
		m := w.members[rng.IntN(len(w.members))]
		n := len(w.members)
		w.mu.RUnlock()
		l := m.life.Load()
		m.living.Lock()
		switch kind := rng.IntN(10); {
		case m.name == "visitor" && kind < 4 && !w.forks:
			w.rejoin(m, l)
		case m.store != nil && kind < 4:
			w.takeOver(m, l)
		case kind < 2 && n < 7 && m.store == nil && w.forks:
			w.backup(m, l)
		case kind < 4 && m.store == nil && m != w.founder && !w.forks:
			w.restore(m, l)
		case kind < 3 && n < 7 && w.forks && !w.trusted && m.store == nil:
			w.reopen(m, l, true)
		case kind < 8:
			w.reopen(m, l, false)
		}
		m.living.Unlock()
	}
}

// reopen closes a replica and opens it again. A copy of its folder may become another one.
func (w *world) reopen(m *member, l *life, copied bool) {
	m.life.Store(nil)
	if w.failed(l.close(), "close %s", m.name) {
		return
	}
	var c *member
	if copied {
		c = w.copyOf(m)
		if w.failed(os.CopyFS(c.dir, os.DirFS(m.dir)), "copy") {
			return
		}
		w.seen("copied folder")
	}
	w.seen("reopened")
	w.begin(m, nil, nil)
	if c != nil {
		w.join(c)
	}
}

// copyOf returns a member of the same device.
func (w *world) copyOf(m *member) *member {
	w.mu.RLock()
	defer w.mu.RUnlock()
	c := &member{name: fmt.Sprint(m.name, "copy", len(w.members)), device: m.device, opts: m.opts,
		writes: m.writes, prunes: m.prunes, right: m.right}
	if m == w.founder {
		c.right = replica.Write // copies do not grant
	}
	c.dir = c.nextDir(w.root)
	return c
}

// join lets a member take part.
func (w *world) join(m *member) {
	if w.begin(m, nil, nil) == nil {
		return
	}
	w.mu.Lock()
	w.members = append(w.members, m)
	w.mu.Unlock()
	rng := rand.New(rand.NewPCG(uint64(len(m.name)), 3))
	w.group.Go(func() { w.program(m, rng) })
}

// backup makes a backup of a replica, and opens it as another one.
func (w *world) backup(m *member, l *life) {
	c := w.copyOf(m)
	if !w.failed(l.db.Backup(l.ctx, c.dir), "back up %s", m.name) {
		w.seen("backup opened")
		w.join(c)
	}
}

// restore makes a backup of a replica; or else its disk is lost, and it goes on with the backup.
// What it has acknowledged was given to the founder before that.
func (w *world) restore(m *member, l *life) {
	if m.backup == "" {
		m.backup = m.nextDir(w.root)
		w.failed(l.db.Backup(l.ctx, m.backup), "back up %s", m.name)
		return
	}
	m.life.Store(nil)
	l.using.Lock()
	defer l.using.Unlock()
	given := false
	for range 3 {
		if to := w.founder.life.Load(); to != nil && !given {
			given = w.visit(w.ctx, l, to) == nil
		}
	}
	if !given {
		m.life.Store(l)
		return
	}
	w.failed(l.close(), "close %s", m.name)
	m.dir, m.backup = m.backup, ""
	w.seen("restored")
	w.begin(m, nil, nil)
}

// rejoin makes an empty replica of a member.
func (w *world) rejoin(m *member, l *life) {
	m.life.Store(nil)
	w.failed(l.close(), "close %s", m.name)
	id := l.space.ID()
	m.id, m.dir = &id, m.nextDir(w.root)
	w.seen("joined again")
	w.begin(m, nil, nil)
}

// takeOver has a standby take over from a member. What its writer could not ship is recovered from
// its folder.
func (w *world) takeOver(m *member, l *life) {
	r, err := remote.OpenReader(w.ctx, m.store, "", nil)
	if w.ctx.Err() != nil {
		if err == nil {
			w.failed(r.Close(), "close a standby")
		}
		return
	}
	if w.failed(err, "open a standby") {
		return
	}
	dir := m.nextDir(w.root)
	l.fenced.Store(true)
	db, err := r.TakeOver(context.Background(), dir, shipping)
	if w.failed(err, "take over") {
		return
	}
	w.seen("taken over")
	before := m.dir
	m.dir = dir
	w.begin(m, db.DB, db)
	w.outlive(l)
	l.using.Lock()
	defer l.using.Unlock()
	w.failed(l.close(), "close a writer that lost its role")
	w.failed(w.recover(m, before), "recover what a writer had")
}

// outlive lets others meet a writer that has lost its role, for a moment.
func (w *world) outlive(l *life) {
	w.mu.Lock()
	w.olds = append(w.olds, l)
	w.mu.Unlock()
	time.Sleep(20 * time.Millisecond)
	w.mu.Lock()
	w.olds = slices.DeleteFunc(w.olds, func(o *life) bool { return o == l })
	w.mu.Unlock()
}

// recover gives the founder what is in the folder of a writer that has lost its role.
func (w *world) recover(m *member, dir string) error {
	db, err := stoat.Open(dir, nil)
	if err != nil {
		return err
	}
	space, err := replica.Open(db, spaceName, &replica.Options{Device: m.device})
	if err == nil {
		l := &life{m: m, db: db, space: space}
		for range 50 {
			if to := w.founder.life.Load(); to != nil {
				if err = w.visit(context.Background(), l, to); err == nil {
					w.seen("recovered")
					break
				}
			}
			time.Sleep(time.Millisecond)
		}
	}
	return errors.Join(err, db.Close())
}
