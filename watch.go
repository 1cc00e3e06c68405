package stoat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Position is a moment in the order of commits. It is a number for [DB.Watch], and to keep; of two
// of the same database, the later one is greater. The zero value means "from now on" and is the
// position of no moment. Positions stay what they are when the database is closed and opened again.
// With [SyncNever], a crash may undo commits, and others take their positions; after one, read anew
// what was followed.
//
// A backup that is opened for writing, restored or not, is another database in this: what it
// commits is not what the other one did. Positions of before mean nothing there, nor do its own
// until it has committed something.
type Position uint64

// commitBits of a position are the number of its commit, and one more, so that none is 0. Those of
// the branch are above, and the highest one is 0, so that it is a positive number everywhere.
const commitBits = 63 - engine.BranchBits

// positionOf returns the position of a commit, which is 0 if there is none yet.
func positionOf(branch, commit uint64) Position {
	return Position(branch&(1<<engine.BranchBits-1)<<commitBits | commit + 1)
}

// commit returns the number of the position's commit.
func (p Position) commit() uint64 { return uint64(p)&(1<<commitBits-1) - 1 }

// isOf reports whether the position is one of the branch.
func (p Position) isOf(branch uint64) bool { return p == positionOf(branch, p.commit()) }

// ChangeKind says what a [Change] does.
type ChangeKind uint8

const (
	// ChangePut is a key that has got a value, as with Put.
	ChangePut ChangeKind = iota + 1
	// ChangeDelete is a key that was deleted, whether it was there or not.
	ChangeDelete
	// ChangeDeleteRange is a range of keys that were deleted, as many as there were.
	ChangeDeleteRange
)

// Change is one write of a commit, as [DB.Watch] tells it. Its slices are valid until the loop's
// next step and must not be modified.
type Change struct {
	Position Position // of its commit
	Kind     ChangeKind
	// Key is what was put or deleted. With ChangeDeleteRange, all keys from Key on, which is nil for
	// the first, up to but without End, which is nil for no end, were deleted.
	Key, End []byte
	Value    []byte    // of ChangePut
	Expires  time.Time // of ChangePut: when the key expires; zero for never
	// Last is true for the last change of its commit in the range: what follows belongs to a later
	// one. Whoever keeps Position only then can go on from there without a gap.
	Last bool
}

// Position returns the position of the newest commit that readers see, also of a closed database.
func (db *DB) Position() Position { return db.positionOf(db.engine.Newest()) }

// positionOf returns the position of a commit of this database.
func (db *DB) positionOf(commit uint64) Position { return positionOf(db.engine.Branch(), commit) }

// Position returns the position of the commit that the transaction began on. What it wrote itself
// has none before it is committed, and after the end of a View it is 0. To read a range and then
// follow its changes without a gap, pass the position of the transaction that has read it to
// [DB.Watch].
func (tx *Tx) Position() Position {
	if tx.reused() {
		return 0
	}
	return tx.session.position
}

// Watch returns a loop over the changes of the root bucket's keys in r by the commits after the
// position from, and waits for more when there is none. Each commit is told once it is visible and,
// under [SyncAlways], durable: in the order of commits, and of the writes in each of them, without
// a gap, and none twice. A key that was written twice in a transaction comes twice. That a key
// expires is no change; [Change.Expires] tells it ahead. Limit in r ends the loop after so many
// changes; Reverse is an error.
//
// The zero position stands for the moment when the loop starts. A loop that keeps up reads from
// memory: of the newest commits, 1/32 of [Options.MemoryLimit] is kept while there are loops. One
// that does not reads the log. When its memtable was flushed and that part of the log is gone, the
// loop ends with [ErrLagged], and so it does at a commit that never was in the log: those of
// [DB.Load] and of transactions larger than memory. A database in memory has no log at all. Commits
// never wait for a loop.
//
// The last step of the loop is an error, unless the body or the limit ended it. The Change has
// nothing but a Position then. With the error of ctx, or with [ErrClosed], which comes when all
// commits before Close were told, it is that of the last commit that was told whole: go on from
// there. With ErrLagged, something between from and it was missed: read the range anew in a
// transaction that begins afterwards, and go on from its [Tx.Position]. A position ahead of the
// database is an error, and so is a database opened with [Options.ReadOnly], which does not change.
func (db *DB) Watch(ctx context.Context, r Range, from Position) iter.Seq2[Change, error] {
	return db.WatchBucket(ctx, nil, r, from)
}

// WatchBucket is [DB.Watch] for the bucket at the end of path: names of buckets, each within the
// one before; without any, the root. The loop follows the bucket that is there when it starts, and
// ends with [ErrBucketNotFound] if there is none. If that bucket, one that holds it, or an earlier
// one in its place was deleted after the position from, the last change is a ChangeDeleteRange of
// all keys in r, and ErrBucketNotFound follows. What was in an earlier one is not told.
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

// errWatched ends a loop that has told all that was asked for.
var errWatched = errors.New("all that was asked for is told")

// watch is one pass of a loop over changes.
type watch struct {
	db      *DB
	ctx     context.Context
	yield   func(Change, error) bool
	limited bool
	left    int      // changes to yield, if limited
	at      Position // so far everything is told

	path   [][]byte      // the catalog keys of the bucket and of those that hold it
	span   keyspace.Span // the internal keys to watch
	strip  int           // the bytes of an internal key before what the user sees
	end    []byte        // of the range as the user sees it; nil for none
	held   Change        // told when it is known whether it is the last one of its commit
	holds  bool
	orphan bool // the bucket was deleted
}

// run tells all changes. The error says why there are no more; it is never nil.
func (w *watch) run(path [][]byte, r Range) error {
	if r.Reverse {
		return errors.New("changes come in the order of commits: watch without Range.Reverse")
	}
	f, err := w.db.engine.Follow()
	if err != nil {
		return err
	}
	defer f.Close()
	if w.at > 0 { // the bucket may be as new as that
		if !w.at.isOf(w.db.engine.Branch()) {
			return fmt.Errorf("the position is of another database, or of before it was restored: %w",
				ErrLagged)
		}
		if err := f.Reach(w.ctx, w.at.commit()); err != nil {
			return err
		}
	}
	err = w.db.View(func(tx *Tx) error {
		if w.at == 0 {
			w.at = tx.Position()
		}
		s, err := w.find(tx, path)
		if err == nil {
			w.setRange(s, r)
		}
		return err
	})
	if err != nil {
		return err
	}
	return f.Run(w.ctx, w.at.commit(), w.commit)
}

// find returns the bucket at the end of path, and notes the catalog keys on the way.
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

// setRange sets what to watch of a bucket.
func (w *watch) setRange(s *space, r Range) {
	prefix := s.prefix[:s.prefixBytes]
	w.strip = len(prefix)
	lower, upper, ok := r.bounds(new([]byte), prefix)
	if !ok {
		lower = bytes.Clone(prefix)
		upper = lower // no key; but that the bucket is deleted counts
	}
	w.span = keyspace.Span{Start: lower, End: upper}
	if len(r.End) > 0 {
		w.end = bytes.Clone(r.End)
	}
}

// commit tells the changes of one commit.
func (w *watch) commit(c engine.Commit) error {
	err := c.Each(func(key []byte, e keyspace.Entry) error {
		if w.orphan {
			return nil
		}
		change, ok := w.change(key, e)
		if !ok {
			return nil
		}
		change.Position = w.db.positionOf(c.Number)
		if err := w.tell(false); err != nil {
			return err
		}
		w.held, w.holds = change, true
		return nil
	})
	if err == nil {
		err = w.tell(true)
	}
	if err != nil {
		return err
	}
	w.at = w.db.positionOf(c.Number)
	if w.orphan {
		return fmt.Errorf("the watched bucket was deleted: %w", ErrBucketNotFound)
	}
	return nil
}

// tell yields the change that is held, if any, now that it is known whether it is the last one of
// its commit.
func (w *watch) tell(last bool) error {
	if !w.holds {
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	change := w.held
	change.Last = last
	w.held, w.holds = Change{}, false // a loop that waits keeps nothing
	if !w.yield(change, nil) {
		return errWatched
	}
	if w.left--; w.limited && w.left == 0 {
		return errWatched
	}
	return nil
}

// change returns what an entry says about the watched keys; ok is false if that is nothing.
func (w *watch) change(key []byte, e keyspace.Entry) (c Change, ok bool) {
	switch e.Kind {
	case keyspace.KindPut:
		c = Change{Kind: ChangePut, Value: e.Value}
		if e.Until != 0 {
			c.Expires = expiry(e.Until)
		}
	case keyspace.KindDelete:
		c = Change{Kind: ChangeDelete}
		for _, bucket := range w.path {
			if bytes.Equal(key, bucket) {
				w.orphan = true
				return w.deleted(w.span)
			}
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

// deleted returns the change that deletes a span of what is watched.
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
