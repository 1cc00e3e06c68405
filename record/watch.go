package record

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// Entry is a record with its key.
type Entry[T any] struct {
	Key    tuple.Tuple
	Record *T
}

// Changes is what a commit has changed in the result of a query.
type Changes[T any] struct {
	Position stoat.Position // the result is the one at this moment
	Added    []Entry[T]     // records that belong to the result from now on
	Changed  []Entry[T]     // records of the result that are different now
	Removed  []Entry[T]     // records that belong to it no more, as they were
	// Lagged says that the loop has missed commits, and these are the changes of all of them.
	Lagged bool
}

// Watch returns a loop over what happens to the result of a query. First it yields the result as it
// is, all records as added and in order; then, whenever a commit has changed it, the changes. It
// never delays a commit: a loop that is too slow, as [stoat.DB.Watch] describes it, runs the query
// anew and yields the difference.
//
// The last step of the loop is an error, unless the body ended it: that of ctx, [stoat.ErrClosed],
// [stoat.ErrBucketNotFound] if the collection was deleted, or [ErrOutdated] if it was opened with
// other fields, indexes or options since. The records are the caller's.
//
// A record that expires belongs to the result until it is swept, or until the query runs anew.
//
// The loop runs in the caller's goroutine, and its body may use the database. It keeps the records
// of the result in memory, encoded. A query with a limit, an offset or After runs anew for each
// commit that may concern it, so that the changes of several commits may come together.
func (c *Collection[T]) Watch(
	ctx context.Context, db *stoat.DB, q Query[T],
) iter.Seq2[Changes[T], error] {
	return func(yield func(Changes[T], error) bool) {
		w := &watch[T]{c: c, q: q, item: item[T]{c: c}, yield: yield, result: map[string][]byte{}}
		w.staged = map[string][]byte{}
		err := c.wrap(errors.New("the query is one of another collection"))
		if q.c == c {
			err = w.run(ctx, db)
		}
		if !errors.Is(err, errStop) {
			yield(Changes[T]{}, err)
		}
	}
}

// watch is one pass of a loop over changes of a result.
type watch[T any] struct {
	c      *Collection[T]
	q      Query[T]
	item   item[T]
	yield  func(Changes[T], error) bool
	at     stoat.Position    // of the result
	now    time.Time         // by which the present commit tells what has expired
	result map[string][]byte // the stored records by key
	// What the present commit has done so far: the last value of each key, nil if it was deleted, and
	// the keys in the order of the first change.
	staged map[string][]byte
	order  []string
}

// run yields all changes. The error says why there are no more; it is never nil.
func (w *watch[T]) run(ctx context.Context, db *stoat.DB) error {
	changes, err := w.refresh(db)
	if err != nil {
		return err
	}
	if !w.yield(changes, nil) {
		return errStop
	}
	for {
		err := w.follow(ctx, db)
		if !errors.Is(err, stoat.ErrLagged) {
			return err
		}
		changes, err := w.refresh(db)
		if err != nil {
			return err
		}
		changes.Lagged = true
		if err := w.tell(changes); err != nil {
			return err
		}
	}
}

// tell yields changes, if there are any.
func (w *watch[T]) tell(changes Changes[T]) error {
	if len(changes.Added)+len(changes.Changed)+len(changes.Removed) > 0 && !w.yield(changes, nil) {
		return errStop
	}
	return nil
}

// follow yields the changes of commits, until there is an error.
func (w *watch[T]) follow(ctx context.Context, db *stoat.DB) error {
	w.unstage()
	path := [][]byte{[]byte(w.c.name)}
	for change, err := range db.WatchBucket(ctx, path, stoat.Range{}, w.at) {
		if err != nil {
			return w.c.wrap(err)
		}
		if change.Position <= w.at {
			continue
		}
		w.stage(change)
		if !change.Last {
			continue
		}
		changes, err := w.commit(db, change.Position)
		if err != nil {
			return err
		}
		if err := w.tell(changes); err != nil {
			return err
		}
	}
	return errStop
}

// unstage forgets the present commit.
func (w *watch[T]) unstage() {
	clear(w.staged)
	w.order = w.order[:0]
}

// stage adds a change to those of the present commit.
func (w *watch[T]) stage(change stoat.Change) {
	switch change.Kind {
	case stoat.ChangePut:
		w.stageKey(string(change.Key), append([]byte{}, change.Value...))
	case stoat.ChangeDelete:
		w.stageKey(string(change.Key), nil)
	case stoat.ChangeDeleteRange:
		deleted := span{change.Key, change.End}
		keys := slices.Collect(maps.Keys(w.result))
		keys = append(keys, w.order...)
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if deleted.has([]byte(key)) {
				w.stageKey(key, nil)
			}
		}
	}
}

func (w *watch[T]) stageKey(key string, value []byte) {
	if _, ok := w.staged[key]; !ok {
		w.order = append(w.order, key)
	}
	w.staged[key] = value
}

// commit returns what the present commit has changed, and brings the result up to date.
func (w *watch[T]) commit(db *stoat.DB, at stoat.Position) (Changes[T], error) {
	defer w.unstage()
	if err := w.current(db); err != nil {
		return Changes[T]{}, err
	}
	again := w.q.offset > 0 || w.q.after != nil
	for key, value := range w.staged {
		if value == nil {
			continue
		}
		ok, err := w.belongs([]byte(key), value)
		if err != nil {
			return Changes[T]{}, w.c.wrap(err)
		}
		if !ok {
			w.staged[key] = nil
		}
	}
	for key, value := range w.staged {
		again = again || w.q.limit > 0 && (value != nil || w.result[key] != nil)
	}
	if again {
		return w.refresh(db)
	}
	w.at = at
	if w.q.limit > 0 {
		return Changes[T]{}, nil
	}
	return w.difference(w.order, w.staged)
}

// current returns an error if the collection is not any more what was opened.
func (w *watch[T]) current(db *stoat.DB) error {
	if len(w.staged) == 0 {
		return nil
	}
	return w.view(db, func(tx *stoat.Tx) error {
		w.now = tx.Now()
		_, err := w.c.session(tx)
		return err
	})
}

// view calls fn, whose errors name the collection, in a read-only transaction.
func (w *watch[T]) view(db *stoat.DB, fn func(tx *stoat.Tx) error) error {
	begun := false
	err := db.View(func(tx *stoat.Tx) error {
		begun = true
		return fn(tx)
	})
	if !begun {
		err = w.c.wrap(err)
	}
	return err
}

// belongs reports whether a stored record fulfils the query, without limit and offset.
func (w *watch[T]) belongs(key, value []byte) (bool, error) {
	if gone, err := w.c.expiredAt(value, w.now); gone || err != nil {
		return false, err
	}
	w.item.set(key, value)
	if ok, err := w.item.fulfils(w.q.where); !ok || err != nil {
		return false, err
	}
	for _, filter := range w.q.filters {
		r, err := w.item.record()
		if err != nil || !filter(r) {
			return false, err
		}
	}
	return true, nil
}

// refresh runs the query, and returns what is different from the result so far.
func (w *watch[T]) refresh(db *stoat.DB) (Changes[T], error) {
	now := map[string][]byte{}
	var order []string
	var at stoat.Position
	err := w.view(db, func(tx *stoat.Tx) error {
		at = tx.Position()
		return w.q.run(tx, needs{whole: true}, func(i *item[T]) error {
			order = append(order, string(i.key))
			now[string(i.key)] = append([]byte{}, i.value...)
			return nil
		})
	})
	if err != nil {
		return Changes[T]{}, err
	}
	w.at = at
	for _, key := range slices.Sorted(maps.Keys(w.result)) {
		if now[key] == nil {
			order, now[key] = append(order, key), nil
		}
	}
	return w.difference(order, now)
}

// difference changes the result to what the records of the keys are now, nil for those that do not
// belong to it, and returns what is different.
func (w *watch[T]) difference(keys []string, now map[string][]byte) (Changes[T], error) {
	changes := Changes[T]{Position: w.at}
	for _, key := range keys {
		value, old := now[key], w.result[key]
		var list *[]Entry[T]
		switch {
		case value == nil && old == nil, value != nil && old != nil && bytes.Equal(value, old):
			continue
		case value == nil:
			list, value = &changes.Removed, old
			delete(w.result, key)
		case old == nil:
			list, w.result[key] = &changes.Added, value
		default:
			list, w.result[key] = &changes.Changed, value
		}
		e := Entry[T]{Record: new(T)}
		var err error
		if e.Key, err = tuple.Decode([]byte(key)); err == nil {
			err = w.c.decode(value, e.Record)
		}
		if err != nil {
			return Changes[T]{}, w.c.wrapKey([]byte(key), err)
		}
		*list = append(*list, e)
	}
	return changes, nil
}
