package stress

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// look checks in one state that the items are as many as was counted, also by indexes.
func (w *world) look(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		err := l.count(tx)
		if errors.Is(err, errCount) && !l.closing.Load() {
			w.failed(w.explain(tx, l), "explain")
		}
		return err
	})
}

// errCount says that a state has other items than it counts.
var errCount = errors.New("the items are not as many as was counted")

// count checks that the items of a state are as many as it counts, also by their index.
func (l *life) count(tx *stoat.Tx) error {
	owners, err := countItems(l.items.All(tx))
	if err != nil {
		return err
	}
	for owner, n := range owners {
		by, err := l.items.Query().Where(record.Eq("owner", owner)).Count(tx)
		if err != nil {
			return err
		}
		if by != n {
			return fmt.Errorf("%d items of %s, and %d by its index", n, owner, by)
		}
	}
	return nil
}

// countItems returns how many items each owner has, which must be as many as are counted.
func countItems(items iter.Seq2[*item, error]) (owners map[string]uint64, err error) {
	var here, counted int64
	owners = map[string]uint64{}
	for v, err := range items {
		if err != nil {
			return nil, err
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
		return nil, fmt.Errorf("%d items, and %d counted: %w", here, counted, errCount)
	}
	return owners, nil
}

// history reads the history of the total, and of a task.
func (w *world) history(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		err := drain(l.space.History(tx, "items", totalKey))
		if err == nil && l.tasks != nil {
			err = drain(l.space.History(tx, "tasks", rng.Int64N(12)))
		}
		return err
	})
}

// drain reads a sequence to its end, or to the first error.
func drain[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
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
		if err == nil {
			_, err = countItems(items.All())
		}
		return err
	})
}

// status reads all that a space tells of itself.
func (w *world) status(l *life, rng *rand.Rand) error {
	return l.db.View(func(tx *stoat.Tx) error {
		st, err := l.space.Status(tx)
		if err != nil {
			return err
		}
		if st.Mismatch || len(st.Ended) > 0 || len(st.Split) > 0 {
			return fmt.Errorf("status: %+v", st)
		}
		for _, r := range st.Refusals {
			w.seen("refusal: " + r.Reason.Error())
		}
		err = errors.Join(drain(l.space.Void(tx)), drain(l.space.Grants(tx)))
		for _, h := range st.Heads {
			if err != nil || rng.IntN(3) > 0 {
				continue
			}
			err = drain(l.space.Entries(tx, h.Log, 0, h.Entries))
			if errors.Is(err, replica.ErrPruned) {
				err = nil
			}
		}
		return err
	})
}

// check checks all that is stored, or moves it.
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

// verify verifies the collections and the space.
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
