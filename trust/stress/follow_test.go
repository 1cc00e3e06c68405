package stress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Follow applies the changes of the root bucket to what it was, and compares it after each commit,
// until ctx ends or the database is closed, whose error it returns. It counts the commits.
func (c *Chain) Follow(ctx context.Context, db *stoat.DB, commits *int) error {
	held, at, position, err := c.readRoot(db)
	for err == nil {
		err = c.follow(ctx, db, held, &at, &position, commits)
		if errors.Is(err, stoat.ErrLagged) {
			held, at, position, err = c.readRoot(db)
		}
	}
	return err
}

// readRoot returns what is in the root bucket, and when.
func (c *Chain) readRoot(db *stoat.DB) (held *bucket, at Mark, p stoat.Position, err error) {
	held = newBucket()
	err = db.View(func(tx *stoat.Tx) error {
		p = tx.Position()
		if at, err = markOf(tx); err != nil {
			return err
		}
		for key, value := range tx.Scan(stoat.Range{}) {
			held.keys[string(key)] = entry{value: string(value)}
		}
		return nil
	})
	return held, at, p, err
}

// follow is Follow until changes are missed.
func (c *Chain) follow(
	ctx context.Context, db *stoat.DB, held *bucket, at *Mark, p *stoat.Position, commits *int,
) error {
	for change, err := range db.Watch(ctx, stoat.Range{}, *p) {
		if err != nil {
			return err
		}
		switch change.Kind {
		case stoat.ChangePut:
			held.keys[string(change.Key)] = entry{value: string(change.Value)}
		case stoat.ChangeDelete:
			delete(held.keys, string(change.Key))
		case stoat.ChangeDeleteRange:
			for key := range held.keys {
				if key >= string(change.Key) && (change.End == nil || key < string(change.End)) {
					delete(held.keys, key)
				}
			}
		}
		if !change.Last {
			continue
		}
		before := *at
		mark := held.keys[markKey].value
		if _, err := binary.Decode([]byte(mark), binary.BigEndian, at); err != nil {
			return err
		}
		if at.Number != before.Number+1 || !c.Descends(*at, before) {
			return fmt.Errorf("watch goes from %+v to %+v: %w", before, *at, ErrDifferent)
		}
		if change.Position <= *p {
			return fmt.Errorf("watch goes from position %d to %d: %w", *p, change.Position, ErrDifferent)
		}
		*p = change.Position
		*commits++
		if err := c.compareRoot(held, *at); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	return errors.New("the loop ended without an error")
}

// compareRoot compares only the keys of the root bucket, expired or not.
func (c *Chain) compareRoot(held *bucket, m Mark) error {
	c.mu.Lock()
	want, err := c.stateLocked(m)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	for key, e := range want.keys {
		got, there := held.keys[key]
		if !there && !e.mayBeGone(now()) || there && got.value != e.value {
			return fmt.Errorf("at %+v: key %q: %w", m, key, ErrDifferent)
		}
	}
	for key := range held.keys {
		if _, there := want.keys[key]; !there {
			return fmt.Errorf("at %+v: key %q is there: %w", m, key, ErrDifferent)
		}
	}
	return nil
}
