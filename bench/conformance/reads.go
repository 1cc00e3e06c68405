package conformance

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/engine"
)

// each compares all pairs and their order.
func (c *check) each() error {
	seen := make(map[string]bool)
	var last string
	err := c.store.Each(func(k, v []byte) error {
		key := string(k)
		if len(seen) > 0 && key <= last {
			return fmt.Errorf("key %q comes after key %q, which is the wrong order", key, last)
		}
		if _, ok := c.model[key]; !ok {
			return fmt.Errorf("key %q is present, but it was never stored or is deleted", key)
		}
		seen[key], last = true, key
		return c.model.differs(key, v)
	})
	for _, key := range c.model.sorted() {
		if err == nil && !seen[key] {
			err = fmt.Errorf("key %q is lost", key)
		}
	}
	return in("Each", err)
}

// eachStops checks that an error of the function ends Each.
func (c *check) eachStops() error {
	stop := errors.New("stop")
	var calls int
	err := c.store.Each(func(_, _ []byte) error {
		calls++
		return stop
	})
	if calls != 1 || !errors.Is(err, stop) {
		err = fmt.Errorf("the first pair's error was to end it, not %d calls and %v", calls, err)
		return in("Each", err)
	}
	return nil
}

func (c *check) get() error {
	for _, key := range c.model.sorted() {
		size, err := c.store.Get([]byte(key))
		if err == nil {
			err = differsInSize(key, size, len(c.model[key]))
		} else {
			err = fmt.Errorf("key %q: %w", key, err)
		}
		if err != nil {
			return in("Get", err)
		}
	}
	return nil
}

// absent returns keys without values: never stored, deleted, a prefix of another, and the key that
// an append would use next.
func (c *check) absent() []string {
	return []string{"never stored", "gone", "vs", studyKey(7), string(c.key(c.next))}
}

func (c *check) getAbsent() error {
	present := []byte(studyKey(0))
	for _, key := range c.absent() {
		fault := fmt.Errorf("key %q is absent, but there was no error", key)
		if _, err := c.store.Get([]byte(key)); err == nil {
			return in("Get", fault)
		}
		if _, err := c.store.GetMany([][]byte{present, []byte(key), present}); err == nil {
			return in("GetMany", fault)
		}
	}
	return nil
}

// getMany gets all keys in reverse order.
func (c *check) getMany() error {
	var keys [][]byte
	var want int
	sorted := c.model.sorted()
	for i := len(sorted) - 1; i >= 0; i-- {
		keys = append(keys, []byte(sorted[i]))
		want += len(c.model[sorted[i]])
	}
	got, err := c.store.GetMany(keys)
	if err == nil && got != want {
		err = fmt.Errorf("the values of all keys have %d bytes instead of %d", got, want)
	}
	return in("GetMany", err)
}

// copy copies each value into no buffer, a buffer that is too small, and one that is too large.
func (c *check) copy() error {
	large := make([]byte, 40_000)
	for _, key := range c.model.sorted() {
		for i := range large {
			large[i] = 0xaa
		}
		for _, buf := range [][]byte{nil, make([]byte, 1), large} {
			if err := c.copyOne(key, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyOne copies one existing value. It is safe for concurrent use while nothing changes the model.
func (c *check) copyOne(key string, buf []byte) error {
	value, found, err := c.store.Copy([]byte(key), buf)
	switch {
	case err != nil:
		err = fmt.Errorf("key %q: %w", key, err)
	case !found:
		err = fmt.Errorf("key %q is lost", key)
	default:
		err = c.model.differs(key, value)
	}
	return in(fmt.Sprintf("Copy with a buffer of %d bytes", len(buf)), err)
}

func (c *check) copyAbsent() error {
	for _, key := range c.absent() {
		_, found, err := c.store.Copy([]byte(key), make([]byte, 100))
		if err != nil {
			err = fmt.Errorf("key %q is absent, which must be no error: %w", key, err)
		} else if found {
			err = fmt.Errorf("key %q is absent, but it was found", key)
		}
		if err != nil {
			return in("Copy", err)
		}
	}
	return nil
}

// iterate starts at keys and between them, and stops before the last pair and at it.
func (c *check) iterate() error {
	sorted := c.model.sorted()
	last := len(sorted) - 1
	for _, from := range []struct {
		start string
		first int // index of the key that comes first
	}{
		{sorted[0], 0},
		{sorted[last/3], last / 3},
		{sorted[last/2] + "\x00\x01", last/2 + 1}, // no key is between the two
		{sorted[last], last},
	} {
		rest := sorted[from.first:]
		for _, n := range []int{1, (len(rest) + 1) / 2, len(rest)} {
			for _, look := range []engine.Look{engine.ReadLengths, engine.TouchValues} {
				if err := c.iterateOver(from.start, rest[:n], look); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// iterateOver iterates from start over exactly these keys.
func (c *check) iterateOver(start string, keys []string, look engine.Look) error {
	want := engine.Walk{Entries: len(keys)}
	for _, key := range keys {
		want.Bytes += len(c.model[key])
		if look == engine.TouchValues {
			want.Sum += engine.Touch(c.model[key])
		}
	}
	got, err := c.store.Iterate([]byte(start), len(keys), look)
	if err == nil {
		err = differ(got, want)
	}
	call := fmt.Sprintf("Iterate from key %q over %d entries, touch %v", start, len(keys), look)
	return in(call, err)
}

// differ returns an error if a walk did not see what it should.
func differ(got, want engine.Walk) error {
	switch {
	case got.Entries != want.Entries:
		return fmt.Errorf("it saw %d entries instead of %d", got.Entries, want.Entries)
	case got.Bytes != want.Bytes:
		return fmt.Errorf("it saw %d bytes instead of %d", got.Bytes, want.Bytes)
	case got.Sum != want.Sum:
		return fmt.Errorf("the bytes touched add up to %d instead of %d", got.Sum, want.Sum)
	}
	return nil
}

// copyAll copies the first n entries, with and without values.
func (c *check) copyAll(n int) error {
	for _, part := range []engine.Part{engine.KeysAndValues, engine.KeysOnly} {
		var want engine.Walk
		for _, key := range c.model.sorted() {
			if want.Entries == n {
				break
			}
			want.Entries++
			want.Bytes += len(key)
			if part == engine.KeysAndValues {
				want.Bytes += len(c.model[key])
			}
		}
		got, err := c.store.CopyAll(n, part)
		if err == nil {
			err = differ(got, want)
		}
		if err != nil {
			place := fmt.Sprintf("CopyAll of %d of %d, keysOnly %v", n, len(c.model), part)
			return in(place, err)
		}
	}
	return nil
}

func (c *check) view() error { return in("View", c.store.View()) }
