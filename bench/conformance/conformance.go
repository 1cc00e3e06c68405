// Package conformance checks that an engine may be measured: that it returns what was written, in
// key order, also after it was closed and reopened.
//
// [Check] calls every method of [engine.Store] and compares every answer with a map in memory. It
// makes few commits and is therefore fast on a slow disk too. It does not cut the power, so it
// cannot tell whether synced data would survive that.
package conformance

import (
	"fmt"
	"sync"

	"github.com/stoatdb/stoat/bench/engine"
)

// check is a check in progress.
type check struct {
	store   engine.Store
	order   engine.Order // of the open store
	model   model
	next    uint64 // the next sequence number
	written int    // values made so far
}

// Check returns the first fault that it finds in the engine: which method broke which rule, with
// which key. The directory must exist and be empty; Check does not clean it up.
func Check(e engine.Engine, dir string) error {
	if e.Missing != "" {
		return fmt.Errorf("engine %s: %s", e.Name, e.Missing)
	}
	c := &check{model: make(model)}
	for _, phase := range []struct {
		name  string
		order engine.Order
		do    func() error
	}{
		{"in a new database", engine.BigEndian, c.begin},
		{"after reopening", engine.LittleEndian, c.resume},
		{"after reopening again", engine.BigEndian, c.compare},
	} {
		var err error
		c.order = phase.order
		c.store, err = e.Open(dir, engine.Options{Sync: true, Order: phase.order})
		if err != nil {
			return in(phase.name, in("Open", err))
		}
		err = phase.do()
		if closing := c.store.Close(); err == nil {
			err = in("Close", closing)
		}
		if err != nil {
			return in(phase.name, err)
		}
	}
	return nil
}

// in adds the place to an error, if there is one.
func in(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}

// begin fills the new database. Before the first append, it contains only the pairs, and not the
// counter that some engines need.
func (c *check) begin() error {
	return inTurn(
		func() error { return c.write(c.firstPairs()) },
		func() error { return c.write(c.changes()) },
		c.compare,
		func() error { return c.copyAll(len(c.model) + 10) },
		c.append,
		c.compare,
	)
}

// resume continues in the reopened database.
func (c *check) resume() error {
	return inTurn(
		c.compare,
		c.append,
		func() error { return c.put("put") },
		func() error { return c.put(studyKey(3)) }, // already exists
		c.concurrently,
		c.compare,
	)
}

// compare calls all methods that read.
func (c *check) compare() error {
	return inTurn(
		c.each, c.eachStops, c.get, c.getAbsent, c.getMany, c.copy, c.copyAbsent, c.iterate,
		func() error { return c.copyAll(1) },
		func() error { return c.copyAll(len(c.model) / 2) },
		func() error { return c.copyAll(len(c.model)) },
		c.view,
	)
}

// inTurn runs the steps up to the first error.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// value returns a different value each time, mostly of different lengths: empty, short, longer than
// a page.
func (c *check) value() []byte {
	c.written++
	size := 30 + 7*c.written
	switch c.written % 16 {
	case 3:
		size = 0
	case 5:
		size = 1
	case 9:
		size = 5000 + c.written
	case 13:
		size = 17_000 + c.written
	}
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(31*c.written + 7*i + i>>8)
	}
	return value
}

// firstPairs returns pairs with keys like those of the suite load, keys that are prefixes of other
// keys, and keys with the lowest and highest bytes.
func (c *check) firstPairs() []engine.Pair {
	var pairs []engine.Pair
	for i := range 24 {
		pairs = append(pairs, engine.Pair{Key: []byte(studyKey(17 * i % 24)), Value: c.value()})
	}
	for _, key := range []string{"vsz=", "k\x00\xff", "k", "k\x00", "\x00", "\xf0\x01", "gone"} {
		pairs = append(pairs, engine.Pair{Key: []byte(key), Value: c.value()})
	}
	return pairs
}

// changes returns pairs that overwrite, delete, delete an absent key, and store an empty value.
func (c *check) changes() []engine.Pair {
	return []engine.Pair{
		{Key: []byte(studyKey(1)), Value: c.value()},
		{Key: []byte(studyKey(7))},
		{Key: []byte("gone")},
		{Key: []byte("never stored")},
		{Key: []byte("empty"), Value: []byte{}},
		{Key: []byte(studyKey(5)), Value: []byte{}},
	}
}

// studyKey returns a key of 22 bytes like those of the suite load.
func studyKey(i int) string { return fmt.Sprintf("vsz=%05d-k=%010d", 128, i) }

// write writes the pairs and then overwrites them in memory, as a caller may.
func (c *check) write(pairs []engine.Pair) error {
	for _, p := range pairs {
		c.model.set(p)
	}
	if err := c.store.Write(pairs); err != nil {
		return in("Write", err)
	}
	for _, p := range pairs {
		clear(p.Key)
		clear(p.Value)
	}
	return nil
}

// append appends some values and then overwrites them in memory, as a caller may.
func (c *check) append() error {
	var values [][]byte
	for range 20 {
		value := c.value()
		values = append(values, value)
		c.model.set(engine.Pair{Key: c.key(c.next), Value: value})
		c.next++
	}
	if err := c.store.Append(values); err != nil {
		return in("Append", err)
	}
	for _, value := range values {
		clear(value)
	}
	return nil
}

// key returns the key of a sequence number.
func (c *check) key(sequence uint64) []byte {
	key := make([]byte, engine.KeyBytes)
	c.order.Put(key, sequence)
	return key
}

func (c *check) put(key string) error {
	p := engine.Pair{Key: []byte(key), Value: c.value()}
	c.model.set(p)
	return putPair(c.store, p, engine.OneWriter)
}

func putPair(s engine.Store, p engine.Pair, writers engine.Writers) error {
	return in(fmt.Sprintf("Put of key %q", p.Key), s.Put(p.Key, p.Value, writers))
}

// concurrently puts, writes and copies with several goroutines at once.
func (c *check) concurrently() error {
	const puts, copies = 4, 2
	errs := make([]error, puts+copies+1)
	pairs := make([]engine.Pair, puts)
	known := c.model.sorted()
	for i := range pairs {
		pairs[i] = engine.Pair{Key: fmt.Appendf(nil, "concurrent %d", i), Value: c.value()}
		c.model.set(pairs[i])
	}
	batch := c.concurrentBatch()
	var wait sync.WaitGroup
	wait.Go(func() { errs[puts+copies] = in("Write while others put", c.store.Write(batch)) })
	for i, p := range pairs {
		wait.Go(func() { errs[i] = putPair(c.store, p, engine.ManyWriters) })
	}
	for i := range copies {
		wait.Go(func() {
			for _, key := range known {
				if err := c.copyOne(key, nil); err != nil {
					errs[puts+i] = in("while others put", err)
					return
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// concurrentBatch returns pairs that exist afterwards.
func (c *check) concurrentBatch() []engine.Pair {
	var batch []engine.Pair
	for i := range 4 {
		p := engine.Pair{Key: fmt.Appendf(nil, "concurrent batch %d", i), Value: c.value()}
		c.model.set(p)
		batch = append(batch, p)
	}
	return batch
}
