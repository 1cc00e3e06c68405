package stress

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
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
	{"checkpoint", 2, (*world).checkpoint, []error{replica.ErrNoCheckpoint, replica.ErrNotAllowed,
		replica.ErrNotHeld}},
	{"prune", 2, (*world).prune, []error{replica.ErrNotHeld}},
	{"rights", 3, (*world).rights, []error{replica.ErrNotAllowed}},
	{"adopt", 2, (*world).adoptAll, refused},
	{"check", 1, (*world).check, nil},
	{"seal", 4, func(w *world, l *life, rng *rand.Rand) error { return l.space.Seal() }, nil},
}

// addItem stores an item, and counts it.
func (w *world) addItem(l *life, rng *rand.Rand) error {
	if !l.m.writes {
		return nil
	}
	n := w.items.Add(1)
	it := &item{Key: fmt.Sprintf("%s/%06d", l.m.name, n), Owner: l.m.name, Count: 1}
	err := l.db.Update(func(tx *stoat.Tx) error {
		if err := l.items.Insert(tx, it); err != nil {
			return err
		}
		if rng.IntN(4) == 0 && l.tasks != nil {
			if err := l.tasks.Put(tx, w.task(rng)); err != nil {
				return err
			}
		}
		err := l.items.Update(tx, totalKey, func(v *item) error { v.Count++; return nil })
		if errors.Is(err, stoat.ErrNotFound) {
			err = l.items.Put(tx, &item{Key: totalKey, Count: 1})
		}
		return err
	})
	if err == nil && l.remote != nil {
		if l.remote.Ship(l.ctx) != nil {
			return nil // it is not acknowledged
		}
	}
	if err == nil {
		l.m.mu.Lock()
		l.m.acked = append(l.m.acked, it.Key)
		l.m.mu.Unlock()
	}
	return err
}

func (w *world) task(rng *rand.Rand) *task {
	word := func() string { return fmt.Sprint("w", rng.IntN(5)) }
	return &task{ID: rng.Int64N(12), Title: word(), Note: word(), Done: rng.IntN(2) == 0,
		Votes: rng.Int32N(5), Best: rng.Int64N(1000), First: rng.Int64N(1000) - 500,
		Tags: []string{word(), word()}, Prices: map[string]int64{word(): rng.Int64N(5)}}
}

// editTasks changes some tasks in one transaction.
func (w *world) editTasks(l *life, rng *rand.Rand) error {
	if l.tasks == nil || l.m.reads {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error { return w.edit(tx, l, rng) })
}

func (w *world) edit(tx *stoat.Tx, l *life, rng *rand.Rand) (err error) {
	for range 1 + rng.IntN(4) {
		v := w.task(rng)
		switch rng.IntN(4) {
		case 0:
			if err = l.tasks.Delete(tx, v.ID); errors.Is(err, stoat.ErrNotFound) {
				err = nil
			}
		case 1:
			err = l.tasks.Put(tx, v)
		default:
			err = l.tasks.Update(tx, v.ID, func(old *task) error {
				old.Votes += v.Votes - 2
				old.Best, old.First = max(old.Best, v.Best), min(old.First, v.First)
				old.Tags = append(old.Tags, v.Tags...)
				if rng.IntN(2) == 0 {
					old.Title, old.Note, old.Tags = v.Title, v.Note, v.Tags
				}
				return nil
			})
			if errors.Is(err, stoat.ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// undo makes a transaction fail after it has changed something.
func (w *world) undo(l *life, rng *rand.Rand) error {
	if l.tasks == nil || l.m.reads {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error {
		err := w.edit(tx, l, rng)
		if rng.IntN(2) == 0 {
			return errors.Join(err, errUndo)
		}
		return errors.Join(err, tx.BeforeCommit(func() error {
			return tx.BeforeCommit(func() error { return tx.BeforeCommit(func() error { return errUndo }) })
		}))
	})
}

func (w *world) editNote(l *life, rng *rand.Rand) error {
	if l.notes == nil || l.m.reads {
		return nil
	}
	n := &note{fmt.Sprint(rng.IntN(5)), fmt.Sprint(l.m.name, rng.IntN(100))}
	return l.db.Update(func(tx *stoat.Tx) error { return l.notes.Put(tx, n) })
}

// tagItem tags an item.
func (w *world) tagItem(l *life, rng *rand.Rand) error {
	n := max(1, rng.Uint64N(w.items.Load()+1))
	return l.db.Update(func(tx *stoat.Tx) error {
		key := fmt.Sprintf("%s/%06d", l.m.name, n)
		return l.items.Update(tx, key, func(v *item) error {
			v.Tags = append(v.Tags, fmt.Sprint("t", rng.IntN(9)))
			return nil
		})
	})
}

func (w *world) revert(l *life, rng *rand.Rand) error {
	if l.notes == nil || l.m.reads {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error {
		_, err := l.space.Revert(tx, replica.Filter{Collection: "notes",
			From: time.Now().Add(-time.Duration(rng.IntN(1000)) * time.Millisecond)})
		return err
	})
}

// settleOne settles a conflict.
func (w *world) settleOne(l *life, rng *rand.Rand) error {
	if l.m.reads {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error {
		for c, err := range l.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			if rng.IntN(3) == 0 {
				return l.space.Settle(tx, c)
			}
		}
		return nil
	})
}

// look checks in one state that the items are as many as was counted, also by indexes.
func (w *world) look(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		err := l.count(tx)
		if err != nil && !errors.Is(err, replica.ErrNotHeld) && !l.closing.Load() {
			w.failed(w.twice(tx, l), "twice")
		}
		return err
	})
}

func (l *life) count(tx *stoat.Tx) error {
	var here, counted int64
	owners := map[string]uint64{}
	for v, err := range l.items.All(tx) {
		if err != nil {
			return err
		}
		switch {
		case v.Key == totalKey:
			counted = v.Count
		case v.Owner != "": // or else it is what is left of an edit of a void item
			here++
			owners[v.Owner]++
		}
	}
	if here != counted {
		return fmt.Errorf("%d items, and %d counted", here, counted)
	}
	for owner, n := range owners {
		by, err := l.items.Query().Where(record.Eq("owner", owner)).Count(tx)
		if err != nil || by != n {
			return fmt.Errorf("%d items of %s, and %d by its index: %w", n, owner, by, err)
		}
	}
	return nil
}

func (w *world) history(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		for _, err := range l.space.History(tx, "items", totalKey) {
			if err != nil {
				return err
			}
		}
		if l.tasks == nil {
			return nil
		}
		for _, err := range l.space.History(tx, "tasks", rng.Int64N(12)) {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// past looks at a state that the replica had.
func (w *world) past(l *life, rng *rand.Rand) error {
	var vector replica.Vector
	err := l.db.View(func(tx *stoat.Tx) (err error) {
		vector, err = l.space.Vector(tx)
		return err
	})
	if err != nil {
		return err
	}
	moment := replica.Moment{Vector: vector}
	if rng.IntN(2) == 0 {
		moment = replica.Moment{Time: time.Now().Add(-time.Duration(rng.IntN(1e9)))}
	}
	return l.db.View(func(tx *stoat.Tx) error {
		view, err := l.space.At(tx, moment)
		if err != nil {
			return err
		}
		items, err := replica.At[item](view, "items")
		if err != nil {
			return err
		}
		var here, counted int64
		for v, err := range items.All() {
			if err != nil {
				return err
			}
			switch {
			case v.Key == totalKey:
				counted = v.Count
			case v.Owner != "":
				here++
			}
		}
		if here != counted {
			return fmt.Errorf("then: %d items, and %d counted", here, counted)
		}
		return nil
	})
}

func (w *world) status(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		st, err := l.space.Status(tx)
		if err != nil {
			return err
		}
		if st.Mismatch || len(st.Ended) > 0 {
			return fmt.Errorf("status: %+v", st)
		}
		for _, r := range st.Refusals {
			w.seen("refusal: " + r.Reason.Error())
		}
		if len(st.Split) > 0 {
			return fmt.Errorf("split: %v", st.Split)
		}
		for _, err := range l.space.Void(tx) {
			if err != nil {
				return err
			}
		}
		for _, err := range l.space.Grants(tx) {
			if err != nil {
				return fmt.Errorf("grants: %w", err)
			}
		}
		for _, h := range st.Heads {
			if rng.IntN(3) > 0 {
				continue
			}
			for _, err := range l.space.Entries(tx, h.Log, 0, h.Entries) {
				if err != nil && !errors.Is(err, replica.ErrPruned) {
					return err
				}
			}
		}
		return nil
	})
}

// carry carries a file from the replica to another one.
func (w *world) carry(l *life, rng *rand.Rand) error {
	var file bytes.Buffer
	if err := replica.Export(l.ctx, l.space, &file); err != nil {
		return err
	}
	to := w.any(rng)
	if to == nil || to == l {
		return nil
	}
	if rng.IntN(8) == 0 {
		file.Truncate(rng.IntN(file.Len()))
		if err := replica.Import(to.ctx, to.space, &file); err != nil {
			w.seen("cut file: " + err.Error())
		}
		return nil
	}
	err := replica.Import(to.ctx, to.space, &file)
	if err != nil {
		w.seen("import: " + err.Error())
	}
	if err != nil && w.forks && strings.Contains(err.Error(), "fork proof is missing") {
		err = nil // it comes with sessions
	}
	if err != nil && strings.Contains(err.Error(), "import again") {
		err = nil // sessions of this replica have met another checkpoint
	}
	err = to.expects(err, replica.ErrNotHeld, replica.ErrPruned, replica.ErrMissing)
	if err != nil {
		err = fmt.Errorf("import by %s: %w", to.m.name, err)
	}
	return err
}

func (w *world) checkpoint(l *life, rng *rand.Rand) error {
	if w.forks || !rules(l.m.right) {
		return nil
	}
	err := l.db.Update(func(tx *stoat.Tx) error { return l.space.Checkpoint(tx) })
	if err == nil {
		w.seen("a checkpoint was made")
	}
	return err
}

func (w *world) prune(l *life, rng *rand.Rand) error {
	if !l.m.prunes {
		return nil
	}
	return l.space.Prune()
}

// rights grants or revokes what the guest may do.
func (w *world) rights(l *life, rng *rand.Rand) error {
	if w.guest == (replica.DeviceID{}) || !rules(l.m.right) {
		return nil
	}
	err := l.db.Update(func(tx *stoat.Tx) error {
		if rng.IntN(2) == 0 {
			return l.space.Revoke(tx, w.guest)
		}
		return l.space.Grant(tx, w.guest, replica.Write)
	})
	if err != nil && strings.Contains(err.Error(), "no grant to revoke") {
		err = nil
	}
	return err
}

// adoptAll issues again what does not count.
func (w *world) adoptAll(l *life, rng *rand.Rand) error {
	if l.m != w.members[0] {
		return nil
	}
	_, err := l.adopt()
	return err
}

// adopt issues again what does not count, and returns how many entries that were.
func (l *life) adopt() (n int, err error) {
	err = l.db.Update(func(tx *stoat.Tx) error {
		var all []*replica.Void
		for v, err := range l.space.Void(tx) {
			if err != nil {
				return err
			}
			if !v.Repeated && v.Act == "" {
				all = append(all, v)
			}
		}
		for _, v := range all {
			a, err := l.space.Adopt(tx, v.Log, v.Seq, v.Seq+1)
			if n += a.Entries; err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// check checks all that is stored.
func (w *world) check(l *life, rng *rand.Rand) error {
	switch rng.IntN(4) {
	case 0:
		return l.db.Check(l.ctx)
	case 1:
		return l.db.Compact(l.ctx)
	case 2:
		return l.db.Flush()
	}
	return l.verify()
}

func (l *life) verify() error {
	return l.db.View(func(tx *stoat.Tx) error {
		err := l.items.Verify(tx)
		if err == nil && l.tasks != nil {
			err = l.tasks.Verify(tx)
		}
		if err == nil {
			err = l.space.Verify(l.ctx, tx, func(uint64) {})
		}
		return err
	})
}
