package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// forAll runs a test for every engine and both orders.
func forAll(t *testing.T, test func(t *testing.T, e Engine, o Options)) {
	for _, e := range All() {
		if e.Missing != "" {
			continue
		}
		for _, order := range []Order{BigEndian, LittleEndian} {
			t.Run(e.Name+"/"+string(order), func(t *testing.T) {
				t.Parallel()
				test(t, e, Options{Sync: true, Order: order})
			})
		}
	}
}

func open(t testing.TB, e Engine, dir string, o Options) Store {
	t.Helper()
	s, err := e.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value returns the value of a sequence number: no two have the same length.
func value(sequence int) []byte {
	return fmt.Appendf(nil, "%0*d", 20+sequence, sequence)
}

func key(o Order, sequence int) []byte {
	k := make([]byte, KeyBytes)
	o.Put(k, uint64(sequence))
	return k
}

// fill appends the messages from one sequence number up to another. It overwrites the values after
// each batch, as a caller may.
func fill(t testing.TB, s Store, from, to int) {
	t.Helper()
	const batch = 100
	for ; from < to; from += batch {
		var values [][]byte
		for i := from; i < min(from+batch, to); i++ {
			values = append(values, value(i))
		}
		must(t, s.Append(values))
		for _, v := range values {
			clear(v)
		}
	}
}

// inOrder returns the sequence numbers below n in the order of their keys.
func inOrder(o Order, n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortFunc(numbers, func(a, b int) int { return bytes.Compare(key(o, a), key(o, b)) })
	return numbers
}

// expect fails the test unless the store holds exactly the first n messages, in key order.
func expect(t testing.TB, s Store, o Order, n int) {
	t.Helper()
	want := inOrder(o, n)
	var i int
	must(t, s.Each(func(k, v []byte) error {
		switch {
		case i >= n:
			return fmt.Errorf("more than %d pairs, the next one is %x", n, k)
		case !bytes.Equal(k, key(o, want[i])):
			return fmt.Errorf("key %x in the place of %x", k, key(o, want[i]))
		case !bytes.Equal(v, value(want[i])):
			return fmt.Errorf("key %x has the value %q", k, v)
		}
		i++
		return nil
	}))
	if i != n {
		t.Fatalf("%d pairs instead of %d", i, n)
	}
}

func TestAppend_numbersMessagesAndKeepsThemAfterReopening(t *testing.T) {
	forAll(t, func(t *testing.T, e Engine, o Options) {
		dir := t.TempDir()
		s := open(t, e, dir, o)
		fill(t, s, 0, 350)
		expect(t, s, o.Order, 350)
		must(t, s.Close())

		s = open(t, e, dir, o)
		expect(t, s, o.Order, 350)
		fill(t, s, 350, 700) // the numbers go on
		must(t, s.Close())

		s = open(t, e, dir, o)
		expect(t, s, o.Order, 700)
		must(t, s.Close())
	})
}

func TestGet_findsEveryMessage(t *testing.T) {
	forAll(t, func(t *testing.T, e Engine, o Options) {
		const n = 500
		s := open(t, e, t.TempDir(), o)
		fill(t, s, 0, n)
		var keys [][]byte
		var want int
		for i := n - 1; i >= 0; i-- {
			keys = append(keys, key(o.Order, i))
			want += len(value(i))
			size, err := s.Get(keys[len(keys)-1])
			must(t, err)
			if size != len(value(i)) {
				t.Fatalf("message %d has %d bytes instead of %d", i, size, len(value(i)))
			}
		}
		size, err := s.GetMany(keys)
		must(t, err)
		if size != want {
			t.Errorf("all messages have %d bytes instead of %d", size, want)
		}
		absent := key(o.Order, n)
		if _, err := s.Get(absent); err == nil {
			t.Error("Get of an absent key is no error")
		}
		if _, err := s.GetMany([][]byte{absent}); err == nil {
			t.Error("GetMany of an absent key is no error")
		}
		must(t, s.View())
		must(t, s.Close())
	})
}

func TestIterate_stepsOverWhatItShould(t *testing.T) {
	forAll(t, func(t *testing.T, e Engine, o Options) {
		const n, first, steps = 500, 123, 200
		s := open(t, e, t.TempDir(), o)
		fill(t, s, 0, n)
		sorted := inOrder(o.Order, n)
		want := Walk{Entries: steps}
		for _, i := range sorted[first : first+steps] {
			want.Bytes += len(value(i))
			want.Sum += Touch(value(i))
		}
		for _, touch := range []bool{true, false} {
			got, err := s.Iterate(key(o.Order, sorted[first]), steps, touch)
			must(t, err)
			if got != want {
				t.Errorf("touch %v: %+v instead of %+v", touch, got, want)
			}
			want.Sum = 0
		}
		must(t, s.Close())
	})
}

func TestPut_storesWhatACrowdPuts(t *testing.T) {
	forAll(t, func(t *testing.T, e Engine, o Options) {
		const workers, each = 8, 5
		dir := t.TempDir()
		s := open(t, e, dir, o)
		must(t, s.Put(key(o.Order, 0), value(0), false))
		errs := make([]error, workers)
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() {
				for i := range each {
					sequence := 1 + w*each + i
					errs[w] = s.Put(key(o.Order, sequence), value(sequence), true)
				}
			})
		}
		wait.Wait()
		for _, err := range errs {
			must(t, err)
		}
		must(t, s.Close())
		s = open(t, e, dir, o)
		expect(t, s, o.Order, 1+workers*each)
		must(t, s.Close())
	})
}

func TestOpen_worksWithoutSync(t *testing.T) {
	forAll(t, func(t *testing.T, e Engine, o Options) {
		o.Sync = false
		dir := t.TempDir()
		s := open(t, e, dir, o)
		fill(t, s, 0, 200)
		must(t, s.Close())
		s = open(t, e, dir, o)
		expect(t, s, o.Order, 200)
		must(t, s.Close())
	})
}

func TestOrder_putsTheFirstByteWhereItSays(t *testing.T) {
	if got := binary.BigEndian.Uint64(key(BigEndian, 258)); got != 258 {
		t.Errorf("big-endian key of 258 is %d", got)
	}
	if got := key(LittleEndian, 258); !bytes.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("little-endian key of 258 is %x", got)
	}
}

func TestFind_knowsEveryEngineOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range All() {
		if seen[e.Name] {
			t.Errorf("two engines are named %s", e.Name)
		}
		seen[e.Name] = true
	}
	if e, err := Find("bbolt"); err != nil || e.Name != "bbolt" {
		t.Errorf("found %v, %v", e.Name, err)
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("an unknown engine is no error")
	}
}
