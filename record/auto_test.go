package record_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// ticket has a key that the database gives.
type ticket struct {
	ID   int64  `stoat:"id,key,auto"`
	Name string `stoat:"name,unique"`
}

// plainTicket is a ticket whose key the program gives.
type plainTicket struct {
	ID   int64  `stoat:"id,key"`
	Name string `stoat:"name,unique"`
}

// insert stores a ticket in a transaction of its own and returns the key that it got.
func insert(t *testing.T, db *stoat.DB, c *record.Collection[ticket], name string) int64 {
	t.Helper()
	r := &ticket{Name: name}
	update(t, db, func(tx *stoat.Tx) error { return c.Insert(tx, r) })
	view(t, db, c.Verify)
	return r.ID
}

func TestAuto_givesNumbersFromOne(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob} {
		db := openMemory(t)
		c := mustOpen(t, db, "tickets", &record.Options[ticket]{Codec: codec})
		one, two, three := &ticket{Name: "a"}, &ticket{Name: "b"}, &ticket{Name: "c"}
		update(t, db, func(tx *stoat.Tx) error {
			return errors.Join(c.Insert(tx, one), c.Put(tx, two), c.Insert(tx, three))
		})
		update(t, db, func(tx *stoat.Tx) error {
			three.Name = "d"
			return c.Put(tx, three) // it has a key by now
		})
		view(t, db, func(tx *stoat.Tx) error {
			wantEqual(t, "records", collect(t, c.All(tx)),
				[]*ticket{{1, "a"}, {2, "b"}, {3, "d"}})
			return c.Verify(tx)
		})
	}
}

func TestAuto_givesNoNumberTwice(t *testing.T) {
	dir := t.TempDir()
	give := func(want int64, change func(tx *stoat.Tx, c *record.Collection[ticket]) error) {
		t.Helper()
		db := openIn(t, dir)
		c := mustOpen[ticket](t, db, "tickets", nil)
		wantEqual(t, "key", insert(t, db, c, fmt.Sprint(want)), want)
		err := db.Update(func(tx *stoat.Tx) error { return change(tx, c) })
		if err != nil && !errors.Is(err, errRollback) {
			t.Error(err)
		}
		ok(t, db.Close())
	}
	give(1, func(tx *stoat.Tx, c *record.Collection[ticket]) error { return c.Delete(tx, 1) })
	give(2, func(tx *stoat.Tx, c *record.Collection[ticket]) error { return c.Clear(tx) })
	give(3, func(tx *stoat.Tx, c *record.Collection[ticket]) error {
		r := &ticket{Name: "of nobody"}
		err := errors.Join(c.Insert(tx, r), c.Clear(tx))
		wantEqual(t, "key", r.ID, int64(4))
		return errors.Join(err, errRollback)
	})
	// What was rolled back was never there.
	give(4, func(tx *stoat.Tx, c *record.Collection[ticket]) error {
		wantEqual(t, "keys", collect(t, c.Keys(tx)), []tuple.Tuple{{int64(3)}, {int64(4)}})
		return nil
	})
}

func TestAuto_goesOnAfterTheHighestKey(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[ticket](t, db, "tickets", nil)
	put(t, db, c, &ticket{20, "a"}, &ticket{7, "b"}, &ticket{-5, "c"})
	wantEqual(t, "key", insert(t, db, c, "d"), int64(21))
	update(t, db, func(tx *stoat.Tx) error {
		if err := c.Put(tx, &ticket{40, "e"}); err != nil {
			return err
		}
		return c.Delete(tx, 40)
	})
	wantEqual(t, "key after a deleted one", insert(t, db, c, "f"), int64(41))
}

func TestAuto_takesBackWhatIsNotStored(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[ticket](t, db, "tickets", nil)
	insert(t, db, c, "a")
	update(t, db, func(tx *stoat.Tx) error {
		r := &ticket{Name: "a"}
		if err := c.Insert(tx, r); !errors.Is(err, record.ErrDuplicate) {
			t.Errorf("duplicate: %v", err)
		}
		wantEqual(t, "key", r.ID, int64(0))
		return nil
	})
	wantEqual(t, "next key", insert(t, db, c, "b"), int64(2))
}

func TestAuto_replacesNoRecord(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[ticket](t, db, "tickets", nil)
	insert(t, db, c, "a")
	update(t, db, func(tx *stoat.Tx) error { // against the rules
		bucket, err := tx.Bucket([]byte("tickets"))
		if err != nil {
			return err
		}
		return bucket.SetSequence(0)
	})
	view(t, db, func(tx *stoat.Tx) error {
		wantError(t, c.Verify(tx), "highest key is 1", "last assigned key is 0")
		return nil
	})
	update(t, db, func(tx *stoat.Tx) error {
		if err := c.Put(tx, &ticket{Name: "b"}); !errors.Is(err, record.ErrExists) {
			t.Errorf("put: %v", err)
		}
		return nil
	})
	c = mustOpen[ticket](t, db, "tickets", nil)
	wantEqual(t, "key after opening", insert(t, db, c, "b"), int64(2))
}

func TestAuto_endsWithTheType(t *testing.T) {
	type tiny struct {
		ID int8 `stoat:"id,key,auto"`
	}
	type large struct {
		ID uint64 `stoat:"id,key,auto"`
	}
	db := openMemory(t)
	small, big := mustOpen[tiny](t, db, "tiny", nil), mustOpen[large](t, db, "large", nil)
	put(t, db, small, &tiny{126}, &tiny{})
	put(t, db, big, &large{math.MaxUint64 - 1}, &large{})
	update(t, db, func(tx *stoat.Tx) error {
		r := &tiny{}
		err := small.Insert(tx, r)
		wantError(t, err, `collection "tiny"`, "127", "field id", "int8")
		if !errors.Is(err, stoat.ErrTooLarge) || r.ID != 0 {
			t.Errorf("key %d, %v", r.ID, err)
		}
		wantError(t, big.Insert(tx, &large{}), `collection "large"`, "18446744073709551615")
		return errors.Join(small.Verify(tx), big.Verify(tx))
	})
	type wider struct {
		ID int16 `stoat:"id,key,auto"`
	}
	wide, r := mustOpen[wider](t, db, "tiny", nil), &wider{}
	put(t, db, wide, r)
	wantEqual(t, "key of the wider type", r.ID, int16(128))
}

func TestAuto_comesAndGoes(t *testing.T) {
	db := openMemory(t)
	plain := mustOpen[plainTicket](t, db, "tickets", nil)
	put(t, db, plain, &plainTicket{0, "a"}, &plainTicket{9, "b"})
	c := mustOpen[ticket](t, db, "tickets", nil)
	wantEqual(t, "key", insert(t, db, c, "c"), int64(10))
	update(t, db, func(tx *stoat.Tx) error { // the record with the key 0 is still there
		wantError(t, plain.Put(tx, &plainTicket{50, "d"}), "reopen it")
		return c.Update(tx, 0, func(r *ticket) error { r.Name = "zero"; return nil })
	})
	plain = mustOpen[plainTicket](t, db, "tickets", nil)
	put(t, db, plain, &plainTicket{0, "a"}, &plainTicket{30, "d"})
	c = mustOpen[ticket](t, db, "tickets", nil)
	wantEqual(t, "key", insert(t, db, c, "e"), int64(31))
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.Get(tx, 0)
		if err != nil {
			return err
		}
		wantEqual(t, "record", *got, ticket{0, "a"})
		return nil
	})
}

// openError returns what opening a collection of records of type R as "x" fails with.
func openError[R any](db *stoat.DB, opts *record.Options[R]) error {
	_, err := record.Open(db, "x", opts)
	return err
}

func TestAuto_refusesOtherKeys(t *testing.T) {
	db := openMemory(t)
	type text struct {
		A string `stoat:",key,auto"`
	}
	type float struct {
		A float64 `stoat:",key,auto"`
	}
	type several struct {
		A string `stoat:",key"`
		B int    `stoat:",auto,key"`
	}
	type noKey struct {
		A int `stoat:",key"`
		B int `stoat:",auto"`
	}
	type two struct {
		A int `stoat:",auto"`
		B int `stoat:",key,auto"`
	}
	type function struct {
		A int `stoat:",auto"`
	}
	byFunction := &record.Options[function]{
		Key: func(f *function) tuple.Tuple { return tuple.Tuple{f.A} },
	}
	for _, test := range []struct {
		err   error
		parts []string
	}{
		{openError[text](db, nil),
			[]string{`collection "x"`, "field A", "auto", "string", "integers"}},
		{openError[float](db, nil), []string{"field A", "float64", "integers"}},
		{openError[several](db, nil), []string{"field B", "auto", "A, B", "a single field"}},
		{openError[noKey](db, nil), []string{"field B", "auto", "is not the key"}},
		{openError[two](db, nil), []string{"fields A and B", "auto"}},
		{openError(db, byFunction), []string{"field A", "auto", "is not the key"}},
	} {
		wantError(t, test.err, test.parts...)
	}
}
