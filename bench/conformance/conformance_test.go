package conformance_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
)

func TestCheck_passesEveryEngine(t *testing.T) {
	for _, e := range engine.All() {
		t.Run(e.Name, func(t *testing.T) {
			if e.Missing != "" {
				t.Skip(e.Missing)
			}
			if err := conformance.Check(e, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

// sound returns an engine that passes.
func sound(t *testing.T) engine.Engine {
	t.Helper()
	e, err := engine.Find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// store is short for what has faults below.
type store = engine.Store

// Each of these is a store with one fault.
type (
	losesAKey           struct{ store }
	losesAnAppend       struct{ store }
	losesEmpty          struct{ store }
	keepsDeleted        struct{ store }
	swapsTwo            struct{ store }
	changesAByte        struct{ store }
	truncates           struct{ store }
	seesOneMore         struct{ store }
	seesOneLess         struct{ store }
	touchesNothing      struct{ store }
	findsAll            struct{ store }
	getsAll             struct{ store }
	getsNone            struct{ store }
	dropsConcurrentPuts struct{ store }
	dropsABatch         struct{ store }
	neverStops          struct{ store }
)

func (s losesAKey) Write(pairs []engine.Pair) error {
	pairs = slices.DeleteFunc(pairs, func(p engine.Pair) bool { return string(p.Key) == "vsz=" })
	return s.store.Write(pairs)
}

func (s losesAnAppend) Append(values [][]byte) error {
	return s.store.Append(values[:len(values)-1])
}

func (s losesEmpty) Write(pairs []engine.Pair) error {
	for i := range pairs {
		if len(pairs[i].Value) == 0 {
			pairs[i].Value = nil
		}
	}
	return s.store.Write(pairs)
}

func (s keepsDeleted) Write(pairs []engine.Pair) error {
	var kept []engine.Pair
	for _, p := range pairs {
		if p.Value != nil {
			kept = append(kept, p)
		}
	}
	return s.store.Write(kept)
}

func (s swapsTwo) Each(fn func(key, value []byte) error) error {
	var first *engine.Pair
	return s.store.Each(func(key, value []byte) error {
		if first == nil {
			first = &engine.Pair{Key: []byte(string(key)), Value: []byte(string(value))}
			return nil
		}
		err := fn(key, value)
		if err == nil && first.Key != nil {
			err = fn(first.Key, first.Value)
			first.Key = nil
		}
		return err
	})
}

func (s changesAByte) Copy(key, buf []byte) ([]byte, bool, error) {
	value, found, err := s.store.Copy(key, buf)
	if len(value) > 3 {
		value[3]++
	}
	return value, found, err
}

func (s truncates) Append(values [][]byte) error {
	values[0] = values[0][:len(values[0])-1]
	return s.store.Append(values)
}

func (s seesOneMore) CopyAll(n int, part engine.Part) (engine.Walk, error) {
	w, err := s.store.CopyAll(n, part)
	w.Entries++
	return w, err
}

func (s seesOneLess) Iterate(start []byte, n int, look engine.Look) (engine.Walk, error) {
	return s.store.Iterate(start, n-1, look)
}

func (s touchesNothing) Iterate(start []byte, n int, _ engine.Look) (engine.Walk, error) {
	return s.store.Iterate(start, n, engine.ReadLengths)
}

func (s findsAll) Copy(key, buf []byte) ([]byte, bool, error) {
	value, _, err := s.store.Copy(key, buf)
	return value, true, err
}

func (s getsAll) Get(key []byte) (int, error) {
	size, _ := s.store.Get(key)
	return size, nil
}

func (s getsNone) GetMany([][]byte) (int, error) { return 0, nil }

func (s dropsConcurrentPuts) Put(key, value []byte, writers engine.Writers) error {
	if writers == engine.ManyWriters {
		return nil
	}
	return s.store.Put(key, value, writers)
}

func (s dropsABatch) Write(pairs []engine.Pair) error {
	if strings.HasPrefix(string(pairs[0].Key), "concurrent") {
		return nil
	}
	return s.store.Write(pairs)
}

func (s neverStops) Each(fn func(key, value []byte) error) error {
	var first error
	err := s.store.Each(func(key, value []byte) error {
		if err := fn(key, value); first == nil {
			first = err
		}
		return nil
	})
	return errors.Join(first, err)
}

func TestCheck_findsTheFaultOfABrokenEngine(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(s store) store
		want   string // in the error
	}{
		"lost key":         {func(s store) store { return losesAKey{s} }, `key "vsz=" is lost`},
		"lost append":      {func(s store) store { return losesAnAppend{s} }, "is lost"},
		"lost empty":       {func(s store) store { return losesEmpty{s} }, "is lost"},
		"lost put":         {func(s store) store { return dropsConcurrentPuts{s} }, `"concurrent 0" is`},
		"lost batch":       {func(s store) store { return dropsABatch{s} }, `"concurrent batch 0" is`},
		"kept deleted":     {func(s store) store { return keepsDeleted{s} }, `"gone" is present`},
		"wrong order":      {func(s store) store { return swapsTwo{s} }, "wrong order"},
		"wrong value":      {func(s store) store { return changesAByte{s} }, "byte 3 of the value"},
		"short value":      {func(s store) store { return truncates{s} }, "Each: key"},
		"one entry more":   {func(s store) store { return seesOneMore{s} }, "CopyAll of 1 of"},
		"one entry less":   {func(s store) store { return seesOneLess{s} }, "Iterate from"},
		"untouched":        {func(s store) store { return touchesNothing{s} }, "bytes touched"},
		"absent is copied": {func(s store) store { return findsAll{s} }, "but it was found"},
		"absent is got":    {func(s store) store { return getsAll{s} }, "there was no error"},
		"nothing is got":   {func(s store) store { return getsNone{s} }, "GetMany: "},
		"error missed":     {func(s store) store { return neverStops{s} }, "to end it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sound(t)
			open := e.Open
			e.Open = func(dir string, o engine.Options) (store, error) {
				s, err := open(dir, o)
				if err != nil {
					return nil, err
				}
				return test.breaks(s), nil
			}
			expectFault(t, conformance.Check(e, t.TempDir()), test.want)
		})
	}
}

func TestCheck_findsWhatIsLostByClosing(t *testing.T) {
	e := sound(t)
	open := e.Open
	e.Open = func(_ string, o engine.Options) (store, error) {
		return open(t.TempDir(), o) // another one each time
	}
	expectFault(t, conformance.Check(e, t.TempDir()), `after reopening: Each: key "\x00" is lost`)
}

func TestCheck_refusesAMissingEngine(t *testing.T) {
	e := sound(t)
	e.Missing = "no library"
	expectFault(t, conformance.Check(e, t.TempDir()), "no library")
}

// expectFault fails the test unless the error is one line that says what it should.
func expectFault(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "\n") {
		t.Errorf("the error is %q and not one with %q", got, want)
	}
}
