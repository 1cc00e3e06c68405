package stress

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/stoatdb/stoat"
)

// Mark is a state of a database: that after a transaction of a line. The zero mark is an empty
// database.
type Mark struct {
	Line   uint64
	Number uint64 // of the transaction, with those of the lines before it
}

// markKey is the key of the mark in the root bucket.
const markKey = "mark"

// ErrDifferent reports a database that does not hold what it must.
var ErrDifferent = errors.New("different")

// Chain is a tree of lines. A line is the transactions that one opening of a database makes, after
// some state that it has found: so one that has lost its newest commits, or a clone, goes on in a
// line of its own. Safe for concurrent use.
type Chain struct {
	seed uint64

	mu    sync.Mutex
	lines map[uint64]*line
	last  uint64 // the newest line
}

// line is the transactions of an open database.
type line struct {
	parent Mark
	states []*bucket // after the transactions that follow the parent
	plans  []plan
}

// New returns a chain with an empty database.
func New(seed uint64) *Chain { return &Chain{seed: seed, lines: map[uint64]*line{}} }

// Fork returns a new line, for a database that was just opened.
func (c *Chain) Fork() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// Descends reports whether b is a, or was made of it.
func (c *Chain) Descends(b, a Mark) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a.Line != b.Line {
		l := c.lines[b.Line]
		if l == nil {
			return a.Number == 0
		}
		b = l.parent
	}
	return b.Number >= a.Number
}

// next returns the transaction of a line that follows a state, and its mark.
func (c *Chain) next(number uint64, after Mark) (plan, Mark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[number]
	if l == nil {
		l = &line{parent: after}
		c.lines[number] = l
	}
	if after.Line != number && after != l.parent {
		return plan{}, Mark{}, fmt.Errorf("line %d began after %+v and not %+v: %w", number, l.parent,
			after, ErrDifferent)
	}
	i := int(after.Number - l.parent.Number)
	to := Mark{number, after.Number + 1}
	for i >= len(l.plans) {
		before, err := c.stateLocked(after)
		if err != nil {
			return plan{}, Mark{}, err
		}
		p := draw(rand.New(rand.NewPCG(c.seed^number<<40, to.Number)), before, to)
		l.plans, l.states = append(l.plans, p), append(l.states, p.applied(before))
	}
	return l.plans[i], to, nil
}

// stateLocked returns what a database holds at a mark.
func (c *Chain) stateLocked(m Mark) (*bucket, error) {
	for m != (Mark{}) {
		l := c.lines[m.Line]
		if l == nil || m.Number > l.parent.Number+uint64(len(l.states)) {
			return nil, fmt.Errorf("there is no %+v: %w", m, ErrDifferent)
		}
		if m.Number > l.parent.Number {
			return l.states[m.Number-l.parent.Number-1], nil
		}
		m = l.parent
	}
	return newBucket(), nil
}

// Next makes the next transaction of a line in tx, and returns what it makes.
func (c *Chain) Next(tx *stoat.Tx, line uint64) (Mark, error) {
	at, err := markOf(tx)
	if err != nil {
		return Mark{}, err
	}
	p, to, err := c.next(line, at)
	if err != nil {
		return Mark{}, err
	}
	return to, p.perform(tx)
}

// Update makes the next transaction of a line.
func (c *Chain) Update(ctx context.Context, db *stoat.DB, line uint64) (made Mark, err error) {
	err = db.UpdateContext(ctx, func(tx *stoat.Tx) (err error) {
		made, err = c.Next(tx, line)
		return err
	})
	return made, err
}

// Load makes the next transaction of a line with [stoat.DB.Load]. Nobody may commit meanwhile.
func (c *Chain) Load(ctx context.Context, db *stoat.DB, number uint64) (made Mark, err error) {
	var at Mark
	err = db.View(func(tx *stoat.Tx) (err error) {
		at, err = markOf(tx)
		return err
	})
	if err != nil {
		return at, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[number]
	if l == nil || at.Line != number {
		return at, nil // its first transaction is another one
	}
	if uint64(len(l.plans)) > at.Number-l.parent.Number {
		return at, nil // it was planned, and rolled back
	}
	before, err := c.stateLocked(at)
	if err != nil {
		return at, err
	}
	made = Mark{number, at.Number + 1}
	p := drawLoad(rand.New(rand.NewPCG(c.seed^number<<40, made.Number)), made)
	l.plans, l.states = append(l.plans, p), append(l.states, p.applied(before))
	return made, db.Load(ctx, p.pairs())
}

// markOf returns the mark that a transaction sees.
func markOf(tx *stoat.Tx) (m Mark, err error) {
	p, err := tx.Get([]byte(markKey))
	if errors.Is(err, stoat.ErrNotFound) {
		return m, nil
	}
	if err == nil {
		_, err = binary.Decode(p, binary.BigEndian, &m)
	}
	return m, err
}

func (m Mark) bytes() []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, m) // it cannot fail
	return b.Bytes()
}

// Check returns the mark that tx sees, and an error if anything else is not as it must be then.
func (c *Chain) Check(tx *stoat.Tx) (Mark, error) {
	m, err := markOf(tx)
	if err != nil {
		return m, err
	}
	seen := newBucket()
	began := now()
	if err := seen.read(tx); err != nil {
		return m, err
	}
	if err := tx.Err(); err != nil {
		return m, err
	}
	return m, c.Compare(seen, m, began)
}

// Compare returns an error if what was read since some moment is not what must be there at a mark.
func (c *Chain) Compare(seen *bucket, m Mark, began int64) error {
	c.mu.Lock()
	want, err := c.stateLocked(m)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if diff := want.differs(seen, began, now()); diff != "" {
		return fmt.Errorf("at %+v: %s: %w", m, diff, ErrDifferent)
	}
	return nil
}

// CheckDB is Check of what a database holds.
func (c *Chain) CheckDB(db *stoat.DB) (m Mark, err error) {
	err = db.View(func(tx *stoat.Tx) (err error) {
		m, err = c.Check(tx)
		return err
	})
	return m, err
}

// CheckSome looks up some keys in tx, in a bucket, and returns an error if they are not what they
// must be.
func (c *Chain) CheckSome(tx *stoat.Tx, rng *rand.Rand, n int) (Mark, error) {
	m, err := markOf(tx)
	if err != nil {
		return m, err
	}
	c.mu.Lock()
	want, err := c.stateLocked(m)
	c.mu.Unlock()
	if err != nil {
		return m, err
	}
	var in stoat.KeySpace = tx
	if names := want.names(); len(names) > 0 && rng.IntN(2) == 0 {
		name := names[rng.IntN(len(names))]
		if in, err = tx.Bucket([]byte(name)); err != nil {
			return m, fmt.Errorf("bucket %q at %+v: %w", name, m, err)
		}
		want = want.nested[name]
	}
	for range n {
		key := drawKey(rng)
		began := now()
		value, err := in.Get([]byte(key))
		if err != nil && !errors.Is(err, stoat.ErrNotFound) {
			return m, fmt.Errorf("key %q at %+v: %w", key, m, err)
		}
		expect, there := want.keys[key]
		switch {
		case err == nil && !there:
			return m, fmt.Errorf("at %+v: key %q is there: %w", m, key, ErrDifferent)
		case err == nil && string(value) != expect.value:
			return m, fmt.Errorf("at %+v: key %q has another value: %w", m, key, ErrDifferent)
		case err != nil && there && !expect.mayBeGone(now()):
			return m, fmt.Errorf("at %+v: key %q is not there: %w", m, key, ErrDifferent)
		case err == nil && expect.mustBeGone(began):
			return m, fmt.Errorf("at %+v: key %q has expired: %w", m, key, ErrDifferent)
		}
	}
	return m, nil
}
