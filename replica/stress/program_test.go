package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// act is something that a program does with a replica.
type act struct {
	name   string
	weight int
	do     func(w *world, l *life, rng *rand.Rand) error
	fine   []error // that are no surprise
}

// errUndo has a transaction fail.
var errUndo = errors.New("undo it")

// refused are the errors of a device that may not write, or lacks content.
var refused = []error{replica.ErrNotAllowed, replica.ErrNotHeld}

// acts is all that a program does. It is immutable.
var acts = []act{
	{"item", 40, (*world).addItem, refused},
	{"task", 20, (*world).editTasks, refused},
	{"note", 8, (*world).editNote, refused},
	{"undone", 4, (*world).undo, append(refused, errUndo)},
	{"tag", 8, (*world).tagItem, append(refused, stoat.ErrNotFound)},
	{"revert", 1, (*world).revert, append(refused, replica.ErrPruned)},
	{"settle", 3, (*world).settleOne, append(refused, replica.ErrPruned)},
	{"look", 20, (*world).look, []error{replica.ErrNotHeld}},
	{"history", 4, (*world).history, []error{replica.ErrNotHeld}},
	{"past", 2, (*world).past, []error{replica.ErrPruned, replica.ErrNotHeld, stoat.ErrNotFound}},
	{"status", 6, (*world).status, []error{replica.ErrNotAllowed}},
	{"carry", 2, (*world).carry, []error{replica.ErrNotHeld, replica.ErrPruned}},
	{"checkpoint", 5, (*world).checkpoint,
		[]error{replica.ErrNoCheckpoint, replica.ErrNotAllowed, replica.ErrNotHeld}},
	{"prune", 5, (*world).prune, []error{replica.ErrNotHeld}},
	{"rights", 3, (*world).rights, []error{replica.ErrNotAllowed}},
	{"adopt", 2, (*world).adoptAll, refused},
	{"check", 1, (*world).check, nil},
	{"seal", 4, func(w *world, l *life, rng *rand.Rand) error { return l.space.Seal() }, nil},
}

// anyAct returns one of all acts, by their weights.
func anyAct(rng *rand.Rand) *act {
	total := 0
	for i := range acts {
		total += acts[i].weight
	}
	n, i := rng.IntN(total), 0
	for ; n >= acts[i].weight; i++ {
		n -= acts[i].weight
	}
	return &acts[i]
}

// program acts on a member until the end.
func (w *world) program(m *member, rng *rand.Rand) {
	for w.ctx.Err() == nil {
		l := m.life.Load()
		if l == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		a := anyAct(rng)
		began := time.Now()
		if l.using.RLock(); m.life.Load() != l {
			l.using.RUnlock()
			continue
		}
		err := a.do(w, l, rng)
		l.using.RUnlock()
		if took := time.Since(began); took > 5*time.Second {
			w.t.Logf("%s took %s on %s", a.name, took, m.name)
		}
		w.seen(fmt.Sprintf("%s: %v", a.name, err))
		w.failed(l.expects(err, a.fine...), "%s: %s", m.name, a.name)
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		}
	}
}

// watch follows a live query, which must tell of all that changes.
func (w *world) watch(l *life) {
	for l.ctx.Err() == nil {
		sum := int64(0)
		for c, err := range l.items.Watch(l.ctx, l.db, l.items.Query()) {
			if err != nil {
				if l.expects(err, context.Canceled, stoat.ErrBucketNotFound) != nil {
					w.seen("watch: " + err.Error())
				}
				break
			}
			sum += int64(len(c.Added) - len(c.Removed))
		}
		if sum < 0 {
			w.failed(errors.New("more records left a query than joined it"), "%s", l.m.name)
		}
	}
}
