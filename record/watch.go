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

// Changes is how a commit changed the result of a query.
type Changes[T any] struct {
	Position stoat.Position // of the commit
	Added    []Entry[T]     // records that joined the result
	Changed  []Entry[T]     // records of the result that changed
	Removed  []Entry[T]     // records that left the result, as they were before
	// Lagged says that the loop missed commits; the changes cover all of them.
	Lagged bool
}

// Watch returns an iterator over the changes to the result of a query. It first yields the current
// result, with all records as added and in order, and then the changes of each commit that affects
// the result. It never delays a commit: if the loop falls behind, as described for
// [stoat.DB.Watch], it runs the query again and yields the difference.
//
// The last iteration of the loop yields an error, unless the body ended the loop: that of ctx,
// [stoat.ErrClosed], [stoat.ErrBucketNotFound] if the collection was deleted, or [ErrOutdated] if
// it has since been opened with other fields, indexes or options. The caller owns the records.
//
// An expired record stays in the result until it is swept or the query runs again.
//
// The loop runs in the caller's goroutine, and its body may use the database. It keeps the encoded
// records of the result in memory. A query with a limit, an offset or After runs again for each
// commit that may affect it, so changes of several commits may be reported together.
func (c *Collection[T]) Watch(
	ctx context.Context, db *stoat.DB, q Query[T],
) iter.Seq2[Changes[T], error] {
	return func(yield func(Changes[T], error) bool) {
		err := c.core.watch(ctx, db, q.core, func(found changes) error {
			all, err := changesOf[T](c.core, found)
			if err == nil && !yield(all, nil) {
				err = errStop
			}
			return err
		})
		if !errors.Is(err, errStop) {
			yield(Changes[T]{}, err)
		}
	}
}

// changes are [Changes] with encoded keys and records.
type changes struct {
	position                stoat.Position
	added, changed, removed []pair
	lagged                  bool
}

// changesOf decodes changes.
func changesOf[T any](c *collection, found changes) (all Changes[T], err error) {
	all.Position, all.Lagged = found.position, found.lagged
	if all.Added, err = entriesOf[T](c, found.added); err == nil {
		all.Changed, err = entriesOf[T](c, found.changed)
	}
	if err == nil {
		all.Removed, err = entriesOf[T](c, found.removed)
	}
	return all, err
}

// entriesOf decodes records with their keys.
func entriesOf[T any](c *collection, pairs []pair) (all []Entry[T], err error) {
	for _, p := range pairs {
		e := Entry[T]{Record: new(T)}
		if e.Key, err = tuple.Decode(p.key); err == nil {
			err = c.decode(p.value, valueOf(e.Record))
		}
		if err != nil {
			return nil, c.wrapKey(p.key, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// watch passes the changes to the result of a query to yield, until that returns an error. It
// always returns an error, which says why there are no more.
func (c *collection) watch(
	ctx context.Context, db *stoat.DB, q query, yield func(changes) error,
) error {
	if q.c != c {
		return c.wrap(errors.New("the query belongs to another collection"))
	}
	w := &watch{c: c, q: q, item: item{c: c}, yield: yield, result: map[string][]byte{}}
	w.staged = map[string][]byte{}
	return w.run(ctx, db)
}

// watch is one pass of a loop over changes of a result.
type watch struct {
	c      *collection
	q      query
	item   item
	yield  func(changes) error
	at     stoat.Position    // of the result
	now    time.Time         // by which records of the current commit expire
	result map[string][]byte // the encoded records by key
	// The changes of the current commit so far: the last value of each key, nil if it was deleted,
	// and the keys in the order of their first change.
	staged map[string][]byte
	order  []string
}

// run yields all changes. It always returns an error, which says why there are no more.
func (w *watch) run(ctx context.Context, db *stoat.DB) error {
	found, err := w.refresh(db)
	if err == nil {
		err = w.yield(found)
	}
	if err != nil {
		return err
	}
	for {
		err := w.follow(ctx, db)
		if !errors.Is(err, stoat.ErrLagged) {
			return err
		}
		found, err := w.refresh(db)
		if err != nil {
			return err
		}
		found.lagged = true
		if err := w.tell(found); err != nil {
			return err
		}
	}
}

// tell yields changes, if any.
func (w *watch) tell(found changes) error {
	if len(found.added)+len(found.changed)+len(found.removed) == 0 {
		return nil
	}
	return w.yield(found)
}

// follow yields the changes of commits until an error occurs.
func (w *watch) follow(ctx context.Context, db *stoat.DB) error {
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
		found, err := w.commit(db, change.Position)
		if err != nil {
			return err
		}
		if err := w.tell(found); err != nil {
			return err
		}
	}
	return errStop
}

// unstage discards the current commit.
func (w *watch) unstage() {
	clear(w.staged)
	w.order = w.order[:0]
}

// stage adds a change to those of the current commit.
func (w *watch) stage(change stoat.Change) {
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

func (w *watch) stageKey(key string, value []byte) {
	if _, ok := w.staged[key]; !ok {
		w.order = append(w.order, key)
	}
	w.staged[key] = value
}

// commit applies the current commit to the result and returns what it changed.
func (w *watch) commit(db *stoat.DB, at stoat.Position) (changes, error) {
	defer w.unstage()
	if err := w.current(db); err != nil {
		return changes{}, err
	}
	again := w.q.offset > 0 || w.q.after != nil
	for key, value := range w.staged {
		if value == nil {
			continue
		}
		ok, err := w.belongs([]byte(key), value)
		if err != nil {
			return changes{}, w.c.wrap(err)
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
		return changes{}, nil
	}
	return w.difference(w.order, w.staged), nil
}

// current returns an error if the collection is no longer the one that was opened.
func (w *watch) current(db *stoat.DB) error {
	if len(w.staged) == 0 {
		return nil
	}
	return w.view(db, func(tx *stoat.Tx) error {
		w.now = tx.Now()
		_, err := w.c.session(tx)
		return err
	})
}

// view calls fn, whose errors already name the collection, in a read-only transaction.
func (w *watch) view(db *stoat.DB, fn func(tx *stoat.Tx) error) error {
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

// belongs reports whether a stored record matches the query, ignoring limit and offset.
func (w *watch) belongs(key, value []byte) (bool, error) {
	if gone, err := w.c.expiredAt(value, w.now); gone || err != nil {
		return false, err
	}
	w.item.set(key, value)
	if ok, err := w.item.matchesAll(w.q.where); !ok || err != nil {
		return false, err
	}
	for _, filter := range w.q.filters {
		if ok, err := filter(&w.item); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// refresh runs the query, and returns the difference from the previous result.
func (w *watch) refresh(db *stoat.DB) (changes, error) {
	now := map[string][]byte{}
	var order []string
	var at stoat.Position
	err := w.view(db, func(tx *stoat.Tx) error {
		at = tx.Position()
		return w.q.exec(tx, needs{whole: true}, func(i *item) error {
			order = append(order, string(i.key))
			now[string(i.key)] = append([]byte{}, i.value...)
			return nil
		})
	})
	if err != nil {
		return changes{}, err
	}
	w.at = at
	for _, key := range slices.Sorted(maps.Keys(w.result)) {
		if now[key] == nil {
			order, now[key] = append(order, key), nil
		}
	}
	return w.difference(order, now), nil
}

// difference updates the result with the current records of the keys, nil for those not in it, and
// returns what changed.
func (w *watch) difference(keys []string, now map[string][]byte) changes {
	found := changes{position: w.at}
	for _, key := range keys {
		value, old := now[key], w.result[key]
		var list *[]pair
		switch {
		case value == nil && old == nil, value != nil && old != nil && bytes.Equal(value, old):
			continue
		case value == nil:
			list, value = &found.removed, old
			delete(w.result, key)
		case old == nil:
			list, w.result[key] = &found.added, value
		default:
			list, w.result[key] = &found.changed, value
		}
		*list = append(*list, pair{[]byte(key), value})
	}
	return found
}
