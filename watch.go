package stoat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Position is a point in the order of commits. Use it with [DB.Watch], and store it to continue
// later; of two positions of the same database, the later one is greater. The zero value means
// "from now on" and is the position of no commit. Positions stay valid when the database is closed
// and reopened. With [SyncNever], a crash may undo commits, and others then take their positions:
// after a crash, read again what was followed.
//
// In this respect, a backup that is opened for writing, restored or not, is another database: its
// commits are not those of the original. Older positions mean nothing there, nor do its own until
// it has committed something.
type Position uint64

// commit returns the number of the position's commit.
func (p Position) commit() uint64 { return engine.Position(p).Commit() }

// ChangeKind is the kind of a [Change].
type ChangeKind uint8

const (
	// ChangePut means that a key was given a value, as with Put.
	ChangePut ChangeKind = iota + 1
	// ChangeDelete means that a key was deleted, whether or not it existed.
	ChangeDelete
	// ChangeDeleteRange means that all keys in a range were deleted, if any.
	ChangeDeleteRange
)

// Change is one write of a commit, as yielded by [DB.Watch]. Its slices are valid until the loop's
// next iteration and must not be modified.
type Change struct {
	Position Position // the position of its commit
	Kind     ChangeKind
	// Key is the key that was put or deleted. With ChangeDeleteRange, the keys from Key, inclusive,
	// to End, exclusive, were deleted; a nil Key or End means no bound.
	Key, End []byte
	Value    []byte    // set by ChangePut
	Expires  time.Time // set by ChangePut: when the key expires; zero for never
	// Last marks the last change of its commit in the range; later changes belong to a later
	// commit. A caller that stores Position only at such changes can continue from there without a
	// gap.
	Last bool
}

// Position returns the position of the newest commit that readers see. It works on a closed
// database too.
func (db *DB) Position() Position { return db.positionOf(db.engine.Visible()) }

func (db *DB) positionOf(commit uint64) Position { return Position(db.engine.PositionOf(commit)) }

// Position returns the position of the commit that the transaction began on. The transaction's own
// writes have no position until it commits, and after a View has ended the result is 0. To read a
// range and then follow its changes without a gap, pass the position of the reading transaction to
// [DB.Watch].
func (tx *Tx) Position() Position {
	if tx.reused() {
		return 0
	}
	return tx.session.position
}

// Watch returns an iterator over the changes to the root bucket's keys in r made by commits after
// the position from; it waits for more when it has caught up. Each commit is reported once it is
// visible and, with [SyncAlways], durable. Changes come in the order of commits and, within a
// commit, of writes, without gaps or repetitions. A key written twice in a transaction is reported
// twice. The expiry of a key is not a change; [Change.Expires] announces it. A Limit in r ends the
// loop after that many changes; Reverse is an error.
//
// The zero position means the moment the loop starts. A loop that keeps up reads from memory: while
// there are loops, 1/32 of [Options.MemoryLimit] holds the newest commits. One that falls behind
// reads the log. If that part of the log is gone because its memtable was flushed, the loop ends
// with [ErrLagged]. It also does so at a commit that was never in the log: that of a [DB.Load] or
// of a transaction larger than memory. A database in memory has no log at all. Commits never wait
// for a loop.
//
// The last iteration of the loop yields an error, unless the body or the limit ended the loop. The
// Change then has only a Position. With the error of ctx, or with [ErrClosed], which comes after
// all commits before Close, it is the position of the last commit that was reported in full:
// continue from there. With ErrLagged, changes between from and that position were missed: read the
// range again in a transaction that begins afterwards, and continue from its [Tx.Position]. A
// position ahead of the database is an error, and so is a database opened with [Options.ReadOnly],
// which never changes.
func (db *DB) Watch(ctx context.Context, r Range, from Position) iter.Seq2[Change, error] {
	return db.WatchBucket(ctx, nil, r, from)
}

// WatchBucket is [DB.Watch] for the bucket at the end of path, which names nested buckets from the
// root down; an empty path is the root. The loop follows the bucket that exists when it starts, and
// ends with [ErrBucketNotFound] if there is none. If that bucket, one that contains it, or an
// earlier one in its place was deleted after the position from, the last change is a
// ChangeDeleteRange of all keys in r, followed by ErrBucketNotFound. The contents of an earlier
// bucket are not reported. If that bucket, or one that contains it, was moved after from to a place
// that was free, the loop ends with ErrLagged: what the bucket brought along is not reported.
func (db *DB) WatchBucket(
	ctx context.Context, path [][]byte, r Range, from Position,
) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		w := watch{db: db, ctx: ctx, yield: yield, limited: r.Limit > 0, left: r.Limit, at: from}
		err := w.run(path, r)
		if errors.Is(err, ErrLagged) {
			w.at = db.Position()
		}
		if !errors.Is(err, errWatched) {
			yield(Change{Position: w.at}, err)
		}
	}
}

// errWatched ends a loop that has reported everything requested.
var errWatched = errors.New("everything requested has been reported")

// watch is one pass of a loop over changes.
type watch struct {
	db      *DB
	ctx     context.Context
	yield   func(Change, error) bool
	limited bool
	left    int      // changes still to yield, if limited
	at      Position // everything up to here has been reported

	path   [][]byte      // the catalog keys of the bucket and of those that contain it
	span   keyspace.Span // the watched internal keys
	strip  int           // the length of the internal key's prefix, which the user does not see
	end    []byte        // the end of the range as the user sees it; nil for none
	held   Change        // yielded once it is known whether it is the last of its commit
	holds  bool
	orphan bool // the bucket was deleted
}

// run reports all changes. It always returns an error, which says why there are no more.
func (w *watch) run(path [][]byte, r Range) error {
	if r.Reverse {
		return errors.New("changes are reported in commit order: watch without Range.Reverse")
	}
	f, err := w.db.engine.Follow()
	if err != nil {
		return err
	}
	defer f.Close()
	if w.at > 0 { // wait for the commit that may have created the bucket
		if at := w.db.engine.Standing(engine.Position(w.at)); at == engine.Unknown || at == engine.Lost {
			return fmt.Errorf("the position is of another database, or from before a restore: %w",
				ErrLagged)
		}
		if err := f.Reach(w.ctx, w.at.commit()); err != nil {
			return err
		}
	}
	var found Position // where the path leads to the bucket
	err = w.db.View(func(tx *Tx) error {
		found = tx.Position()
		w.at = cmp.Or(w.at, found)
		s, err := w.find(tx, path)
		if err == nil {
			w.setRange(s, r)
		}
		return err
	})
	if err == nil && len(w.path) > 0 {
		err = f.Through(w.ctx, w.at.commit(), found.commit(), w.placed)
	}
	if err != nil {
		return err
	}
	return f.Run(w.ctx, w.at.commit(), w.commit)
}

// placed ends the loop if a commit deleted a bucket of the path, or moved one there: the one that
// is there now was elsewhere before, and what it had and got there is not of the path.
func (w *watch) placed(c commit.Batch) error {
	nextID := keyspace.AppendNextID(nil)
	created := uint64(math.MaxUint64) // buckets from this id on were created in the commit
	err := c.Each(func(key []byte, e keyspace.Entry) error {
		put := e.Kind == keyspace.KindPut
		switch {
		case w.orphan:
		case e.Kind == keyspace.KindDelete:
			w.orphan = w.leads(key)
		case put && bytes.Equal(key, nextID):
			next, err := parseNumber(e.Value)
			created = min(created, next-1)
			return err
		case put && w.leads(key):
			if id, err := parseNumber(e.Value); err != nil || id < created {
				return cmp.Or(err, ErrLagged)
			}
		}
		return nil
	})
	if err != nil || !w.orphan {
		return err
	}
	w.held, w.holds = w.deleted(w.span)
	w.held.Position = w.db.positionOf(c.Commit)
	return w.finish(c.Commit)
}

// leads reports whether an internal key is the entry of a bucket of the path.
func (w *watch) leads(key []byte) bool {
	return slices.ContainsFunc(w.path, func(entry []byte) bool { return bytes.Equal(key, entry) })
}

// find returns the bucket at the end of path and records the catalog keys on the way.
func (w *watch) find(tx *Tx, path [][]byte) (*space, error) {
	s := tx.space
	for _, name := range path {
		b, err := s.Bucket(name)
		if err != nil {
			return nil, err
		}
		w.path = append(w.path, bytes.Clone(s.catalogKey(name)))
		s = &b.space
	}
	return s, nil
}

// setRange sets the range to watch in a bucket.
func (w *watch) setRange(s *space, r Range) {
	prefix := s.prefix[:s.prefixBytes]
	w.strip = len(prefix)
	lower, upper, ok := r.bounds(new([]byte), prefix)
	if !ok {
		lower = bytes.Clone(prefix)
		upper = lower // no keys, but the deletion of the bucket still counts
	}
	w.span = keyspace.Span{Start: lower, End: upper}
	if len(r.End) > 0 {
		w.end = bytes.Clone(r.End)
	}
}

func (w *watch) commit(c commit.Batch) error {
	err := c.Each(func(key []byte, e keyspace.Entry) error {
		if w.orphan {
			return nil
		}
		change, ok := w.change(key, e)
		if !ok {
			return nil
		}
		change.Position = w.db.positionOf(c.Commit)
		if err := w.tell(); err != nil {
			return err
		}
		w.held, w.holds = change, true
		return nil
	})
	if err != nil {
		return err
	}
	return w.finish(c.Commit)
}

// finish tells the last change of a commit.
func (w *watch) finish(commit uint64) error {
	w.held.Last = w.holds
	if err := w.tell(); err != nil {
		return err
	}
	w.at = w.db.positionOf(commit)
	if w.orphan {
		return fmt.Errorf("the watched bucket was deleted: %w", ErrBucketNotFound)
	}
	return nil
}

// tell yields the held change, if any.
func (w *watch) tell() error {
	if !w.holds {
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	change := w.held
	w.held, w.holds = Change{}, false // a waiting loop retains nothing
	if !w.yield(change, nil) {
		return errWatched
	}
	if w.left--; w.limited && w.left == 0 {
		return errWatched
	}
	return nil
}

// change returns what an entry means for the watched keys; ok is false if it does not concern them.
func (w *watch) change(key []byte, e keyspace.Entry) (c Change, ok bool) {
	switch e.Kind {
	case keyspace.KindPut:
		c = Change{Kind: ChangePut, Value: e.Value}
		if e.Until != 0 {
			c.Expires = expiry(e.Until)
		}
	case keyspace.KindDelete:
		c = Change{Kind: ChangeDelete}
		if w.leads(key) {
			w.orphan = true
			return w.deleted(w.span)
		}
	case keyspace.KindDeleteRange:
		return w.deleted(keyspace.Span{Start: key, End: e.Value}.Intersect(w.span))
	}
	if !w.span.Contains(key) {
		return Change{}, false
	}
	c.Key = key[w.strip:]
	return c, true
}

// deleted returns the change that deletes a span of the watched keys.
func (w *watch) deleted(span keyspace.Span) (c Change, ok bool) {
	if bytes.Compare(span.Start, span.End) >= 0 {
		return Change{}, false
	}
	c = Change{Kind: ChangeDeleteRange, End: w.end}
	if len(span.Start) > w.strip {
		c.Key = span.Start[w.strip:]
	}
	if !bytes.Equal(span.End, w.span.End) {
		c.End = span.End[w.strip:]
	}
	return c, true
}
