package stress

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// addItem stores an item, and counts it.
func (w *world) addItem(l *life, rng *rand.Rand) error {
	if !l.m.writes {
		return nil
	}
	it := &item{Key: fmt.Sprintf("%s/%06d", l.m.name, w.items.Add(1)), Owner: l.m.name, Count: 1}
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
	if err != nil || l.remote != nil && l.remote.Ship(l.ctx) != nil {
		return err // what was not shipped is not acknowledged
	}
	l.m.mu.Lock()
	l.m.acked = append(l.m.acked, it.Key)
	l.m.mu.Unlock()
	return nil
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

// task returns any task.
func (w *world) task(rng *rand.Rand) *task {
	word := func() string { return fmt.Sprint("w", rng.IntN(5)) }
	return &task{ID: rng.Int64N(12), Title: word(), Note: word(), Done: rng.IntN(2) == 0,
		Votes: rng.Int32N(5), Best: rng.Int64N(1000), First: rng.Int64N(1000) - 500,
		Tags: []string{word(), word()}, Prices: map[string]int64{word(): rng.Int64N(5)}}
}

// editTasks changes some tasks in one transaction.
func (w *world) editTasks(l *life, rng *rand.Rand) error {
	if l.tasks == nil || !l.m.writes {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error { return w.edit(tx, l, rng) })
}

// edit changes some tasks.
func (w *world) edit(tx *stoat.Tx, l *life, rng *rand.Rand) (err error) {
	for range 1 + rng.IntN(4) {
		v := w.task(rng)
		switch rng.IntN(4) {
		case 0:
			err = l.tasks.Delete(tx, v.ID)
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
		}
		if err != nil && !errors.Is(err, stoat.ErrNotFound) {
			return err
		}
	}
	return nil
}

// undo makes a transaction fail after it has changed something, now or while it commits.
func (w *world) undo(l *life, rng *rand.Rand) error {
	if l.tasks == nil || !l.m.writes {
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

// editNote stores a note.
func (w *world) editNote(l *life, rng *rand.Rand) error {
	if l.notes == nil || !l.m.writes {
		return nil
	}
	n := &note{fmt.Sprint(rng.IntN(5)), fmt.Sprint(l.m.name, rng.IntN(100))}
	return l.db.Update(func(tx *stoat.Tx) error { return l.notes.Put(tx, n) })
}

// revert takes back what was lately done to notes.
func (w *world) revert(l *life, rng *rand.Rand) error {
	if l.notes == nil || !l.m.writes {
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
	if !l.m.writes {
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
