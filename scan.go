package stoat

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Scan returns an iterator over the keys of this bucket in r, and their values, in key order. A
// loop sees the bucket as it is when the loop starts, including all earlier writes of the
// transaction; writing during the loop is safe and does not change what it sees. The slices are
// valid until the transaction ends and must not be modified.
//
// An error ends the loop early and is kept in [Tx.Err].
func (s *space) Scan(r Range) iter.Seq2[[]byte, []byte] {
	from := *s
	return func(yield func(key, value []byte) bool) {
		from, r := from, r // on the stack; the closure has them by value, in one allocation
		w := from.walk()
		if w.start(&r, superversion.Scope{Read: superversion.ReadValues}) {
			w.run(yield)
		}
		w.finish()
	}
}

// Heads is [Tx.Scan] with only the first n bytes of each value, or the whole value if it is
// shorter. Values that are encoded one by one are decoded and kept in memory only up to n bytes. Of
// a value of at least 512 KiB that is compressed alone, only n bytes are kept if n is at most a
// quarter of its size. Other values are decoded with their whole block. If n is 0 or less, Heads
// reads no values.
func (s *space) Heads(r Range, n int) iter.Seq2[[]byte, []byte] {
	from := *s
	scope := superversion.Scope{Read: superversion.ReadHeads, HeadBytes: n}
	if n = max(n, 0); n == 0 {
		scope.Read = superversion.ReadKeys
	}
	return func(yield func(key, value []byte) bool) {
		from, r := from, r // as in Scan
		w := from.walk()
		if w.start(&r, scope) {
			w.run(func(key, value []byte) bool {
				end := min(n, len(value))
				return yield(key, value[:end:end])
			})
		}
		w.finish()
	}
}

// Keys is [Tx.Scan] without the values; it never reads one.
func (s *space) Keys(r Range) iter.Seq[[]byte] {
	from := *s
	return func(yield func(key []byte) bool) {
		from, r := from, r // as in Scan
		w := from.walk()
		if w.start(&r, superversion.Scope{Read: superversion.ReadKeys}) {
			w.run(func(key, _ []byte) bool { return yield(key) })
		}
		w.finish()
	}
}

// Buckets returns an iterator over the names of the buckets within this one, in order. It otherwise
// behaves like [Tx.Keys].
func (s *space) Buckets() iter.Seq[[]byte] { return s.BucketsIn(Range{}) }

// BucketsIn is [Tx.Buckets] for the names in r. It does not pass over the others, so that many
// buckets can be listed page by page.
func (s *space) BucketsIn(r Range) iter.Seq[[]byte] {
	from := *s
	return func(yield func(name []byte) bool) {
		from, r := from, r // as in Scan
		w := from.walk()
		if w.startIn(&r, keyspace.AppendCatalog(nil, from.id), superversion.Scope{}) {
			w.run(func(name, _ []byte) bool { return yield(name) })
		}
		w.finish()
	}
}

// walk is one pass of a loop over a frozen snapshot. It holds the bucket by value, because the root
// of a reused Tx no longer knows which transaction the loop belongs to. The transaction keeps a
// finished walk for the next loop: allocating one costs as much as a short loop.
type walk struct {
	from    space
	cursor  superversion.Cursor
	values  superversion.Scratch // of the loop itself, which may outlive the transaction
	bounds  []byte               // memory of the cursor's bounds
	strip   int                  // the length of the internal key's prefix
	left    int                  // entries still to yield; negative for no limit
	reverse bool
	err     error
}

// walk returns an unused walk.
func (s *space) walk() *walk {
	if s.ended() || s.session.idle == nil {
		return &walk{from: *s}
	}
	w := s.session.idle
	s.session.idle = nil
	w.from, w.reverse = *s, false
	return w
}

// start moves to the first entry of r and reports whether there is one. The scope says what is read
// of values.
func (w *walk) start(r *Range, scope superversion.Scope) bool {
	return w.startIn(r, w.from.prefix[:w.from.prefixBytes], scope)
}

// startIn is start for the internal keys with a prefix.
func (w *walk) startIn(r *Range, prefix []byte, scope superversion.Scope) bool {
	var ok bool
	if scope.Lower, scope.Upper, ok = r.bounds(&w.bounds, prefix); !ok {
		w.err = w.from.check()
		return false
	}
	w.strip, w.left, w.reverse = len(prefix), r.Limit, r.Reverse
	if w.left <= 0 {
		w.left = -1
	}
	return w.init(scope)
}

func (w *walk) init(scope superversion.Scope) bool {
	if w.err = w.from.check(); w.err != nil {
		return false
	}
	scope.Once, scope.Limit, scope.Scratch = true, max(w.left, 0), &w.values
	w.cursor.Init(w.from.session.snapshot(), scope)
	move := w.cursor.First
	if w.reverse {
		move = w.cursor.Last
	}
	ok := move()
	w.from.session.passed(&w.cursor)
	return ok
}

// run yields the current entry and those after it. The body of the loop may end the transaction. In
// a read-only one, what the loop sees stays readable even then, so it is enough to stop after the
// current leaf or block; the end of a writable one frees the memory of the entries.
func (w *walk) run(yield func(key, value []byte) bool) {
	each := yield
	if w.from.session.writable {
		each = func(key, value []byte) bool { return yield(key, value) && w.goesOn() }
	}
	for {
		calls, more := w.cursor.Walk(w.strip, w.left, each)
		if !more || !w.goesOn() {
			return
		}
		if w.left > 0 {
			w.left -= calls
		}
	}
}

func (w *walk) goesOn() bool {
	w.err = w.from.over()
	return w.err == nil
}

// finish records any error. It leaves a finished View alone, whose session may already serve
// another transaction.
func (w *walk) finish() {
	if w.err == nil {
		w.err = w.cursor.Err()
	}
	switch ended := w.from.ended(); {
	case w.err != nil && !(ended && w.from.session.reuse != nil):
		w.from.session.fail(w.err)
	case w.err == nil && !ended:
		w.from.session.passed(&w.cursor)
		w.cursor.Release()
		w.from.session.idle = w
	}
}
