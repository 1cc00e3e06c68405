package layers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// derivedName is the bucket with what consumers have written: a bucket for each.
const derivedName = "derived"

// number returns the number of an entry as keys have it.
func number(seq uint64) string { return string(binary.BigEndian.AppendUint64(nil, seq)) }

// timesKey is under what a consumer counts how often it has handled an entry.
func timesKey(seq uint64) string { return "times" + number(seq) }

// countKey is under what a consumer counts the entries of an author.
func countKey(author string) string { return "count" + author }

// consumption is a loop of a consumer.
type consumption struct {
	g      *gazette
	r      *runner[*journal]
	name   string
	rng    *rand.Rand
	left   int // entries to handle
	cancel context.CancelFunc
	commit int // of the newest batch
}

// batch is what a consumer does in a transaction.
type batch struct {
	seqs  []int
	moved bool
	to    uint64
}

// batchOf is under what a transaction keeps the batch of a consumer.
type batchOf struct{ name string }

// turn consumes some of the entries that there are.
func (c *consumption) turn() error {
	m := c.r.line.Newest()
	at := m.cursor(c.name)
	ahead := m.ahead(at)
	if len(ahead) == 0 {
		return nil
	}
	if _, known := m.cursors[c.name]; !known { // the first thing it does is to store where it is
		next := m.clone()
		next.cursors[c.name] = at
		c.commit = c.r.line.Commit(next)
	}
	err := c.consume(context.Background(), 1+c.rng.IntN(len(ahead)))
	switch expired := errors.Is(err, feed.ErrExpired); {
	case (err == nil || expired) && expired != (at < m.first):
		return errors.Join(fmt.Errorf("consumer %s at %d of entries from %d on: expired is %t",
			c.name, at, m.first, expired), err)
	case expired:
		return c.g.move(c.r, c.name)
	case err != nil:
		return c.r.tolerate(err)
	}
	return nil
}

// beside consumes until ctx ends.
func (c *consumption) beside(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.consume(ctx, 1+c.rng.IntN(20))
		if errors.Is(err, feed.ErrExpired) {
			err = c.g.move(c.r, c.name)
		}
		if err != nil {
			return fmt.Errorf("consumer %s: %w", c.name, err)
		}
	}
	return nil
}

// consume handles up to so many entries, and waits for them.
func (c *consumption) consume(ctx context.Context, n int) error {
	ctx, c.cancel = context.WithCancel(ctx)
	defer c.cancel()
	c.left = n
	err := c.g.f.consume(ctx, c.r.db, c.name, c.handle)
	if errors.Is(err, context.Canceled) || errors.Is(err, errAbort) {
		err = nil
	}
	if err == nil {
		c.acked()
	}
	return err
}

// acked notes that the newest batch is committed.
func (c *consumption) acked() { c.r.line.Ack(c.commit, c.r.durable()) }

// handle handles an entry: it counts it, by author too. Now and then it fails, or goes elsewhere.
func (c *consumption) handle(tx *stoat.Tx, seq uint64, m mood) error {
	b := stoat.Local(tx, batchOf{c.name}, func() *batch { return &batch{} })
	if len(b.seqs) == 0 {
		c.acked() // the one before
		if err := tx.BeforeCommit(func() error { return c.committing(tx, b) }); err != nil {
			return err
		}
	}
	switch c.rng.IntN(30) {
	case 0:
		return errAbort
	case 1:
		first, err := c.g.f.First(tx)
		if err != nil {
			return err
		}
		b.moved, b.to = true, max(first, seq-min(seq, c.rng.Uint64N(4)))
		if err := c.g.f.SetCursor(tx, c.name, b.to); err != nil {
			return err
		}
		c.cancel()
	}
	b.seqs = append(b.seqs, int(seq))
	if c.left--; c.left <= 0 {
		c.cancel()
	}
	return derive(tx, c.name, seq, m)
}

// derive counts an entry.
func derive(tx *stoat.Tx, name string, seq uint64, m mood) error {
	all, err := tx.CreateBucketIfNotExists([]byte(derivedName))
	if err != nil {
		return err
	}
	b, err := all.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return err
	}
	for _, key := range []string{timesKey(seq), countKey(m.Author)} {
		n := 0
		text, err := b.Get([]byte(key))
		if err == nil {
			n, err = strconv.Atoi(string(text))
		}
		if err != nil && !errors.Is(err, stoat.ErrNotFound) {
			return err
		}
		if err := b.Put([]byte(key), []byte(strconv.Itoa(n+1))); err != nil {
			return err
		}
	}
	return nil
}

// committing notes what a batch has done, which must be all that was ahead of the consumer.
func (c *consumption) committing(tx *stoat.Tx, b *batch) error {
	next := c.r.line.Newest().clone()
	to, err := c.g.f.Cursor(tx, c.name)
	if err != nil {
		return err
	}
	if len(b.seqs) == 0 {
		return fmt.Errorf("consumer %s commits nothing", c.name)
	}
	passed := int(to)
	if b.moved {
		passed = b.seqs[len(b.seqs)-1] + 1
		if to != b.to {
			return fmt.Errorf("consumer %s was moved to %d and is at %d", c.name, b.to, to)
		}
	}
	want := slices.DeleteFunc(next.ahead(next.cursor(c.name)), func(seq int) bool {
		return seq >= passed
	})
	if !slices.Equal(b.seqs, want) {
		return fmt.Errorf("consumer %s comes from %d to %d, and has handled %v, want %v", c.name,
			next.cursor(c.name), to, b.seqs, want)
	}
	for _, seq := range b.seqs {
		next.handle(c.name, seq)
	}
	next.cursors[c.name] = int(to)
	c.commit = c.r.line.Commit(next)
	return nil
}
