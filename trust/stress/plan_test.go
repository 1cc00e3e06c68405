package stress

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
)

// plan is a transaction.
type plan struct {
	acts []act
}

// deed is what an operation does.
type deed int

const (
	put deed = iota
	remove
	removeRange
	create
	drop
	move
	sequence
)

// act is one operation of a transaction.
type act struct {
	deed  deed
	path  []string // of the bucket
	key   string   // or name of a nested bucket, or the begin of a range
	to    string   // the end of the range
	entry entry
	dest  []string // of a bucket that moves, with its new name
}

// The numbers of keys and names.
const (
	keys    = 60
	buckets = 5
)

func drawKey(rng *rand.Rand) string { return fmt.Sprintf("key%02d", rng.IntN(keys)) }

// draw draws the transaction that leads from a state to a mark.
func draw(rng *rand.Rand, state *bucket, to Mark) plan {
	at := state.clone()
	var p plan
	add := func(a act) {
		p.acts = append(p.acts, a)
		a.apply(at)
	}
	n := 1 + rng.IntN(8)
	if rng.IntN(25) == 0 {
		n = 60
	}
	for range n {
		add(drawAct(rng, at))
	}
	add(act{deed: put, key: markKey, entry: entry{value: string(to.bytes())}})
	return p
}

// drawLoad draws a transaction that only puts.
func drawLoad(rng *rand.Rand, to Mark) plan {
	var p plan
	for range rng.IntN(40) {
		p.acts = append(p.acts, act{deed: put, key: drawKey(rng), entry: entry{value: drawValue(rng)}})
	}
	p.acts = append(p.acts, act{deed: put, key: markKey, entry: entry{value: string(to.bytes())}})
	slices.SortStableFunc(p.acts, func(a, b act) int { return cmp.Compare(a.key, b.key) })
	return p
}

// drawPath draws a bucket.
func drawPath(rng *rand.Rand, at *bucket) (path []string) {
	for rng.IntN(3) > 0 && len(at.nested) > 0 && len(path) < 3 {
		names := at.names()
		name := names[rng.IntN(len(names))]
		path, at = append(path, name), at.nested[name]
	}
	return path
}

func drawAct(rng *rand.Rand, state *bucket) act {
	a := act{path: drawPath(rng, state), key: drawKey(rng)}
	at := state.at(a.path)
	names := at.names()
	if len(names) > 0 {
		a.to = names[rng.IntN(len(names))]
	}
	switch n := rng.IntN(100); {
	case n < 15:
		a.deed = remove
	case n < 19:
		a.deed = removeRange
		from := rng.IntN(keys)
		a.key, a.to = fmt.Sprintf("key%02d", from), fmt.Sprintf("key%02d", from+1+rng.IntN(keys/3))
	case n < 23:
		a.deed, a.key = create, fmt.Sprint("bucket", rng.IntN(buckets))
		if at.nested[a.key] != nil || len(a.path) == 3 {
			a.deed, a.key = remove, drawKey(rng)
		}
	case n < 25 && len(names) > 0:
		a.deed, a.key = drop, a.to
	case n < 27 && len(names) > 0:
		a.deed, a.key, a.dest = move, a.to, drawPath(rng, state)
		own := append(slices.Clone(a.path), a.key)
		inside := len(a.dest) >= len(own) && slices.Equal(a.dest[:len(own)], own)
		name := fmt.Sprint("bucket", rng.IntN(buckets))
		if inside || state.at(a.dest).nested[name] != nil {
			a.deed, a.key = remove, drawKey(rng)
			break
		}
		a.dest = append(a.dest, name)
	case n < 30:
		a.deed = sequence
	default:
		a.entry.value = drawValue(rng)
		if rng.IntN(12) == 0 {
			a.entry.expires = now() + 1 + rng.Int64N(300)
		}
	}
	return a
}

// drawValue draws a value, which may compress.
func drawValue(rng *rand.Rand) string {
	n := rng.IntN(120)
	switch rng.IntN(20) {
	case 0:
		n = 6000
	case 1:
		n = 700
	}
	if rng.IntN(2) == 0 {
		return strings.Repeat(fmt.Sprint("value ", rng.IntN(1000), " "), 1+n/10)
	}
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(rng.UintN(256))
	}
	return string(value)
}

// applied returns what a transaction makes of a state.
func (p plan) applied(state *bucket) *bucket {
	state = state.clone()
	for _, a := range p.acts {
		a.apply(state)
	}
	return state
}

func (a act) apply(state *bucket) {
	at := state.at(a.path)
	switch a.deed {
	case put:
		at.keys[a.key] = a.entry
	case remove:
		delete(at.keys, a.key)
	case removeRange:
		maps.DeleteFunc(at.keys, func(key string, _ entry) bool { return key >= a.key && key < a.to })
	case create:
		at.nested[a.key] = newBucket()
	case drop:
		delete(at.nested, a.key)
	case move:
		moved := at.nested[a.key]
		delete(at.nested, a.key)
		state.at(a.dest[:len(a.dest)-1]).nested[a.dest[len(a.dest)-1]] = moved
	case sequence:
		at.last++
	}
}

// perform makes the transaction.
func (p plan) perform(tx *stoat.Tx) error {
	for _, a := range p.acts {
		if err := a.perform(tx); err != nil {
			return fmt.Errorf("%+v: %w", a, err)
		}
	}
	return nil
}

func (a act) perform(tx *stoat.Tx) error {
	at, err := bucketAt(tx, a.path)
	if err != nil {
		return err
	}
	switch key := []byte(a.key); a.deed {
	case put:
		if a.entry.expires != 0 {
			return at.PutUntil(key, []byte(a.entry.value), time.UnixMilli(a.entry.expires))
		}
		return at.Put(key, []byte(a.entry.value))
	case remove:
		return at.Delete(key)
	case removeRange:
		return at.DeleteRange(stoat.Range{Start: key, End: []byte(a.to)})
	case create:
		_, err = at.CreateBucket(key)
		return err
	case drop:
		return at.DeleteBucket(key)
	case move:
		dest, err := bucketAt(tx, a.dest[:len(a.dest)-1])
		if err != nil {
			return err
		}
		return at.MoveBucket(key, dest, []byte(a.dest[len(a.dest)-1]))
	default:
		_, err = at.NextSequence()
		return err
	}
}

func bucketAt(tx *stoat.Tx, path []string) (stoat.KeySpace, error) {
	var at stoat.KeySpace = tx
	for _, name := range path {
		next, err := at.Bucket([]byte(name))
		if err != nil {
			return nil, fmt.Errorf("bucket %q of %q: %w", name, path, err)
		}
		at = next
	}
	return at, nil
}

// pairs returns what a load puts.
func (p plan) pairs() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, a := range p.acts {
			if !yield([]byte(a.key), []byte(a.entry.value)) {
				return
			}
		}
	}
}
