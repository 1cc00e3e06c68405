package kill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// counter is the key in the root bucket whose value is the number of the newest transaction.
const counter = "counter"

// kind says what a change does.
type kind uint8

const (
	put kind = iota
	putTTL
	remove
	removeRange
	drop
	next
)

// change is one write of a transaction.
type change struct {
	kind     kind
	bucket   string // names from the root, separated by slashes; "" is the root
	key, end string
	value    string
}

// buckets is immutable. The root comes first.
var buckets = [...]string{"", "a", "b", "a/nested"}

// transaction returns what transaction n of a history does, and whether it is a Load.
func transaction(seed, n uint64) (changes []change, load bool) {
	rng := rand.New(rand.NewPCG(seed, n))
	size := 1 + rng.IntN(8)
	switch rng.IntN(60) {
	case 0:
		for range 20 + rng.IntN(400) {
			changes = append(changes, change{kind: put, key: key(rng), value: value(rng, 200)})
		}
		return changes, true
	case 1: // large enough to spill where memory is small
		size = 50 + rng.IntN(150)
	}
	for range size {
		changes = append(changes, draw(rng))
	}
	return changes, false
}

func draw(rng *rand.Rand) change {
	c := change{bucket: buckets[rng.IntN(len(buckets))], key: key(rng)}
	switch p := rng.IntN(100); {
	case p < 55:
		c.value = value(rng, 150)
	case p < 72:
		c.value = value(rng, 6000)
	case p < 73:
		c.value = value(rng, 100_000)
	case p < 78:
		c.kind, c.value = putTTL, value(rng, 300)
	case p < 90:
		c.kind = remove
	case p < 94:
		c.kind, c.end = removeRange, key(rng)
	case p < 98:
		c.kind = next
	default:
		c.kind = drop
	}
	return c
}

func key(rng *rand.Rand) string { return fmt.Sprintf("k%03d", rng.IntN(300)) }

// value returns up to about size bytes. Half of the values look like machine-written records.
func value(rng *rand.Rand, size int) string {
	p, machine := make([]byte, 0, size), rng.IntN(2) == 0
	for n := rng.IntN(size); len(p) < n; {
		if machine {
			p = fmt.Appendf(p, `{"event":"login","user":%d,"ok":true}`, rng.IntN(1000))
		} else {
			p = binary.LittleEndian.AppendUint64(p, rng.Uint64())
		}
	}
	return string(p)
}

// errLoad is returned if the next transaction is a Load, which Update cannot do.
var errLoad = errors.New("the next transaction is a Load")

// commit does the next transaction with Update, and returns its number.
func commit(db *stoat.DB, seed uint64) (n uint64, err error) {
	err = db.Update(func(tx *stoat.Tx) error {
		last, err := newest(tx)
		if err != nil {
			return err
		}
		n = last + 1
		changes, load := transaction(seed, n)
		if load {
			return errLoad
		}
		for _, c := range changes {
			if err := c.on(tx); err != nil {
				return fmt.Errorf("transaction %d: %w", n, err)
			}
		}
		return tx.Put([]byte(counter), binary.BigEndian.AppendUint64(nil, n))
	})
	return n, err
}

// commitLoad does the next transaction if it is a Load, and returns its number, otherwise 0. There
// must be no other writers.
func commitLoad(db *stoat.DB, seed uint64) (n uint64, err error) {
	err = db.View(func(tx *stoat.Tx) error {
		n, err = newest(tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	n++
	changes, load := transaction(seed, n)
	if !load {
		return 0, nil
	}
	err = db.Load(context.Background(), func(yield func(k, v []byte) bool) {
		for _, c := range changes {
			if !yield([]byte(c.key), []byte(c.value)) {
				return
			}
		}
		yield([]byte(counter), binary.BigEndian.AppendUint64(nil, n))
	})
	return n, err
}

// newest returns the number of the newest transaction, or 0 if there is none.
func newest(tx *stoat.Tx) (uint64, error) {
	v, err := tx.Get([]byte(counter))
	if errors.Is(err, stoat.ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(v) != 8 {
		err = fmt.Errorf("the counter is %q", v)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(v), nil
}

// space is what Tx and Bucket have in common.
type space interface {
	Put(key, value []byte) error
	PutTTL(key, value []byte, ttl time.Duration) error
	Delete(key []byte) error
	DeleteRange(r stoat.Range) error
	CreateBucketIfNotExists(name []byte) (*stoat.Bucket, error)
	DeleteBucket(name []byte) error
	NextSequence() (uint64, error)
}

// on makes the change in a database.
func (c change) on(tx *stoat.Tx) error {
	var b space = tx
	path := strings.Split(c.bucket, "/")
	last := path[len(path)-1]
	if c.kind == drop {
		path = path[:len(path)-1]
	}
	for _, name := range path {
		if name == "" {
			continue
		}
		child, err := b.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		b = child
	}
	switch c.kind {
	case put:
		return b.Put([]byte(c.key), []byte(c.value))
	case putTTL: // outlives every test
		return b.PutTTL([]byte(c.key), []byte(c.value), 1000*time.Hour)
	case remove:
		return b.Delete([]byte(c.key))
	case removeRange:
		return b.DeleteRange(stoat.Range{Start: []byte(c.key), End: []byte(c.end)})
	case next:
		_, err := b.NextSequence()
		return err
	}
	if last == "" {
		return nil // the root remains
	}
	err := b.DeleteBucket([]byte(last))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil
	}
	return err
}

// onModel makes the change in a model.
func (c change) onModel(b *model.Bucket) {
	path := strings.Split(c.bucket, "/")
	last := path[len(path)-1]
	if c.kind == drop {
		path = path[:len(path)-1]
	}
	for _, name := range path {
		if name == "" {
			continue
		}
		child := b.Bucket(name)
		if child == nil {
			child = b.CreateBucket(name)
		}
		b = child
	}
	switch c.kind {
	case put, putTTL:
		b.Put(c.key, c.value)
	case remove:
		b.Delete(c.key)
	case removeRange:
		b.DeleteRange(c.key, c.end, false, 0)
	case next:
		b.NextSequence()
	case drop:
		b.DeleteBucket(last)
	}
}

// history is the state after some transaction of a history.
type history struct {
	seed  uint64
	n     uint64
	state *model.Bucket
}

func newHistory(seed uint64) *history {
	return &history{seed: seed, state: model.New(nil).Begin().Root()}
}

// advance moves on to transaction n.
func (h *history) advance(n uint64) {
	for h.n < n {
		h.n++
		changes, _ := transaction(h.seed, h.n)
		for _, c := range changes {
			c.onModel(h.state)
		}
		h.state.Put(counter, string(binary.BigEndian.AppendUint64(nil, h.n)))
	}
}

// match checks that the database is in the state after a transaction that is no older than oldest
// or than at the last match.
func (h *history) match(db *stoat.DB, oldest uint64) error {
	return db.View(func(tx *stoat.Tx) error {
		n, err := newest(tx)
		if err != nil {
			return err
		}
		if oldest = max(oldest, h.n); n < oldest {
			return fmt.Errorf("lost: the newest transaction is %d, but %d was acknowledged", n, oldest)
		}
		h.advance(n)
		got := model.New(nil).Begin().Root()
		if err := dump(tx, got); err != nil {
			return err
		}
		if diff := model.Diff(got, h.state); diff != "" {
			return fmt.Errorf("not the state after transaction %d: %s", n, diff)
		}
		return nil
	})
}

// dump copies a bucket of the database into one of the model.
func dump(from interface {
	Cursor() *stoat.Cursor
	Buckets() iter.Seq[[]byte]
	Bucket(name []byte) (*stoat.Bucket, error)
	Sequence() (uint64, error)
}, to *model.Bucket) error {
	c := from.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		to.Put(string(k), string(v))
	}
	n, err := from.Sequence()
	if err := errors.Join(err, c.Err()); err != nil {
		return err
	}
	to.SetSequence(n)
	var names [][]byte
	for name := range from.Buckets() {
		names = append(names, bytes.Clone(name))
	}
	for _, name := range names {
		b, err := from.Bucket(name)
		if err != nil {
			return err
		}
		if err := dump(b, to.CreateBucket(string(name))); err != nil {
			return err
		}
	}
	return nil
}
