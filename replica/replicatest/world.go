package replicatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// member is a replica in a history.
type member[S any] struct {
	device *replica.Device
	dir    string // of the database
	backup string // directory of its last backup; empty if there is none
	clock  atomic.Int64

	db    *stoat.DB
	space *replica.Space
	state S
}

// world is a history that is being played. It is used by one goroutine.
type world[S any] struct {
	app     *App[S]
	ctx     context.Context
	dir     string
	now     time.Time // as clocks that are right show it
	members []*member[S]
	folders int // names of directories used
}

// spaceName is the name of the space in all databases.
const spaceName = "test"

// began is when histories begin. It is immutable.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// play plays a history, and returns what is wrong.
func play[S any](t testing.TB, app *App[S], h history) (err error) {
	dir, err := os.MkdirTemp(t.TempDir(), "history")
	if err != nil {
		return err
	}
	w := &world[S]{app: app, ctx: t.Context(), dir: dir, now: began}
	defer func() {
		for _, m := range w.members {
			if m.db != nil {
				err = errors.Join(err, m.db.Close())
			}
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := w.found(h.replicas); err != nil {
		return fmt.Errorf("found the space: %w", err)
	}
	for i, s := range h.steps {
		w.tick()
		if err := w.do(s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return w.converge()
}

// found makes the replicas, which know of each other's rights afterwards.
func (w *world[S]) found(replicas int) error {
	var ids []replica.DeviceID
	for i := range replicas {
		device, err := replica.LoadDevice(append(make([]byte, 31), byte(i+1)))
		if err != nil {
			return err
		}
		m := &member[S]{device: device, dir: w.folder()}
		w.members, ids = append(w.members, m), append(ids, device.ID())
		w.tick()
		if err := w.start(m); err != nil {
			return err
		}
	}
	first := w.members[0]
	err := first.db.Update(func(tx *stoat.Tx) error {
		if w.app.Grant != nil {
			return w.app.Grant(tx, first.space, ids)
		}
		return first.space.Grant(tx, replica.Anyone, replica.Write)
	})
	for _, m := range w.members[1:] {
		if err == nil {
			err = w.meet(first, m, whole)
		}
	}
	return err
}

// folder returns a directory that was not used before.
func (w *world[S]) folder() string {
	w.folders++
	return filepath.Join(w.dir, fmt.Sprint(w.folders))
}

// tick lets time pass.
func (w *world[S]) tick() { w.now = w.now.Add(time.Second) }

// start opens a replica's database, and its space.
func (w *world[S]) start(m *member[S]) (err error) {
	m.db, err = stoat.Open(m.dir, &stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		return err
	}
	now := &w.now
	o := &replica.Options{Device: m.device, Now: func() time.Time {
		return now.Add(time.Duration(m.clock.Load()))
	}}
	m.space, err = replica.Open(m.db, spaceName, o)
	if errors.Is(err, replica.ErrNotFound) {
		if m == w.members[0] {
			m.space, err = replica.Create(m.db, spaceName, o)
		} else {
			m.space, err = replica.Join(m.db, spaceName, w.members[0].space.ID(), o)
		}
	}
	if err == nil {
		m.state, err = w.app.Open(m.db, m.space)
	}
	return err
}

// stop closes a replica's database.
func (m *member[S]) stop() error {
	db := m.db
	m.db = nil
	return db.Close()
}

// do does a step, and checks the replicas that take part.
func (w *world[S]) do(s step) error {
	m, peer := w.members[s.replica], w.members[s.peer]
	var err error
	switch s.action {
	case operate:
		err = w.operate(m, s)
	case meet:
		err = w.meet(m, peer, whole)
	case cut:
		err = w.meet(m, peer, s.number)
	case double:
		err = w.double(m, peer)
	case jump:
		m.clock.Store(int64(time.Duration(s.number) * time.Second))
	case restart:
		if err = m.stop(); err == nil {
			err = w.start(m)
		}
	case backup:
		m.backup = w.folder()
		err = m.db.Backup(w.ctx, m.backup)
	case restore:
		err = w.restore(m)
	case checkpoint:
		err = m.db.Update(m.space.Checkpoint)
		if errors.Is(err, replica.ErrNoCheckpoint) || errors.Is(err, replica.ErrNotAllowed) {
			err = nil
		}
	}
	if err == nil {
		err = w.check(s.replica)
	}
	if err == nil {
		err = w.check(s.peer)
	}
	return err
}

func (w *world[S]) operate(m *member[S], s step) error {
	o := &w.app.Operations[s.operation]
	err := m.db.Update(func(tx *stoat.Tx) error {
		return o.Do(tx, m.state, rand.New(rand.NewPCG(s.seed, 0)))
	})
	if errors.Is(err, ErrSkip) || errors.Is(err, replica.ErrNotAllowed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	return nil
}

// restore replaces a database by a copy of its backup, which can be restored again.
func (w *world[S]) restore(m *member[S]) error {
	if m.backup == "" {
		return nil
	}
	if err := m.stop(); err != nil {
		return err
	}
	m.dir = w.folder()
	if err := os.CopyFS(m.dir, os.DirFS(m.backup)); err != nil {
		return err
	}
	return w.start(m)
}

// check checks a replica by the rules of the application.
func (w *world[S]) check(replica int) error {
	if w.app.Check == nil {
		return nil
	}
	m := w.members[replica]
	err := m.db.View(func(tx *stoat.Tx) error { return w.app.Check(tx, m.state) })
	if err != nil {
		return fmt.Errorf("replica %d: %w", replica, err)
	}
	return nil
}
