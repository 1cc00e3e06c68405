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

// derivedName is the bucket that holds one bucket of results per consumer.
const derivedName = "derived"

// number encodes the number of an entry as in keys.
func number(seq uint64) string { return string(binary.BigEndian.AppendUint64(nil, seq)) }

// timesKey is the key where a consumer counts how often it handled an entry.
func timesKey(seq uint64) string { return "times" + number(seq) }

// countKey is the key where a consumer counts the entries of an author.
func countKey(author string) string { return "count" + author }

// consumer runs the loop of one consumer.
type consumer struct {
	g      *feedLayer
	r      *runner[*feedModel]
	name   string
	rng    *rand.Rand
	left   int // entries still to handle
	cancel context.CancelFunc
	commit int // of the newest batch
}

// batch is what a consumer does in one transaction.
type batch struct {
	seqs  []int
	moved bool
	to    uint64
}

// batchOf is the key of a consumer's batch among the values of a transaction.
type batchOf struct{ name string }

// turn consumes some of the entries that are ahead.
func (c *consumer) turn() error {
	m := c.r.line.Newest()
	at := m.cursor(c.name)
	ahead := m.ahead(at)
	if len(ahead) == 0 {
		return nil
	}
	if _, known := m.cursors[c.name]; !known { // it stores its position first
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
func (c *consumer) beside(ctx context.Context) error {
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

// consume handles up to n entries and waits for them.
func (c *consumer) consume(ctx context.Context, n int) error {
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

// acked records that the newest batch is committed.
func (c *consumer) acked() { c.r.line.Ack(c.commit, c.r.durable()) }

// handle counts an entry, also by author. Sometimes it fails or moves the cursor.
func (c *consumer) handle(tx *stoat.Tx, seq uint64, m post) error {
	b := stoat.Local(tx, batchOf{c.name}, func() *batch { return &batch{} })
	if len(b.seqs) == 0 {
		c.acked() // the previous batch
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
func derive(tx *stoat.Tx, name string, seq uint64, m post) error {
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

// committing adds a batch to the timeline. The batch must be all that was ahead of the consumer.
func (c *consumer) committing(tx *stoat.Tx, b *batch) error {
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
