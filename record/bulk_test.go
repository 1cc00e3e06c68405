package record_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// mailbox has a unique index, and one that is not.
type mailbox struct {
	ID   int64  `stoat:"id,key"`
	Mail string `stoat:"mail,unique"`
	Age  int64  `stoat:"age,index"`
}

func TestInsertAll_findsKeysThatItsLoopStores(t *testing.T) {
	for _, test := range []struct {
		name  string
		first int64 // how many records there are before
		write func(c, other *record.Collection[mailbox], tx *stoat.Tx) error
	}{
		{"Put", 0, func(c, _ *record.Collection[mailbox], tx *stoat.Tx) error {
			return c.Put(tx, &mailbox{ID: 5, Mail: "m0"})
		}},
		{"Put of another collection with the name", 3,
			func(_, other *record.Collection[mailbox], tx *stoat.Tx) error {
				return other.Put(tx, &mailbox{ID: 5, Mail: "m0"})
			}},
		{"InsertAll", 0, func(c, _ *record.Collection[mailbox], tx *stoat.Tx) error {
			_, err := c.InsertAll(tx, slices.Values([]*mailbox{{ID: 9, Mail: "m9"}, {ID: 5, Mail: "m0"}}))
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := openMemory(t)
			c := mustOpen[mailbox](t, db, "mailboxes", nil)
			other := mustOpen[mailbox](t, db, "mailboxes", nil)
			for i := range test.first {
				put(t, db, c, &mailbox{ID: i + 1, Mail: fmt.Sprint("first", i)})
			}
			err := db.Update(func(tx *stoat.Tx) error {
				_, err := c.InsertAll(tx, func(yield func(*mailbox) bool) {
					if yield(&mailbox{ID: 5, Mail: "m1"}) {
						ok(t, test.write(c, other, tx))
						yield(&mailbox{ID: 6, Mail: "m2"})
					}
				})
				return err
			})
			if !errors.Is(err, record.ErrExists) {
				t.Errorf("%v, want ErrExists", err)
			}
			view(t, db, c.Verify)
		})
	}
}

func TestInsertAll_takesNewKeysWhileItsLoopWrites(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[mailbox](t, db, "mailboxes", nil)
	const records = 10_000 // which are some batches
	update(t, db, func(tx *stoat.Tx) error {
		n, err := c.InsertAll(tx, func(yield func(*mailbox) bool) {
			for i := range int64(records) {
				if i%1000 == 0 {
					ok(t, c.Put(tx, &mailbox{ID: 3*i + 1, Mail: fmt.Sprint("put", i)}))
				}
				if !yield(&mailbox{ID: 3 * i, Mail: fmt.Sprint(i)}) {
					return
				}
			}
		})
		if n != records {
			t.Errorf("%d records, want %d", n, records)
		}
		return err
	})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		wantEqual(t, "count", n, uint64(records+records/1000))
		return errors.Join(err, c.Verify(tx))
	})
}

func TestHalfDoneWrite_cannotBeCommitted(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(tx *stoat.Tx, c *record.Collection[mailbox]) error
		want  error
	}{
		{"InsertAll of a duplicate", func(tx *stoat.Tx, c *record.Collection[mailbox]) error {
			_, err := c.InsertAll(tx, slices.Values([]*mailbox{
				{ID: 2, Mail: "b"}, {ID: 3, Mail: "a"}}))
			return err
		}, record.ErrDuplicate},
		{"InsertAll of a known key", func(tx *stoat.Tx, c *record.Collection[mailbox]) error {
			_, err := c.InsertAll(tx, slices.Values([]*mailbox{
				{ID: 0, Mail: "b"}, {ID: 1, Mail: "c"}}))
			return err
		}, record.ErrExists},
		{"InsertAll of a second batch", func(tx *stoat.Tx, c *record.Collection[mailbox]) error {
			_, err := c.InsertAll(tx, func(yield func(*mailbox) bool) {
				for i := range int64(5000) {
					if !yield(&mailbox{ID: i + 2, Mail: fmt.Sprint(i)}) {
						return
					}
				}
				yield(&mailbox{ID: 1, Mail: "c"})
			})
			return err
		}, record.ErrExists},
		{"Reindex of a record with another key", func(tx *stoat.Tx, c *record.Collection[mailbox]) error {
			data, err := tx.Bucket([]byte("mailboxes"))
			ok(t, err)
			for key, value := range data.Scan(stoat.Range{}) {
				ok(t, data.Put(append(slices.Clone(key[:len(key)-1]), 0x77), value))
				break
			}
			return c.Reindex(tx)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := openMemory(t)
			c := mustOpen[mailbox](t, db, "mailboxes", nil)
			put(t, db, c, &mailbox{ID: 1, Mail: "a"})
			var failed error
			err := db.Update(func(tx *stoat.Tx) error {
				failed = test.write(tx, c)
				return nil
			})
			if failed == nil || !errors.Is(failed, test.want) && test.want != nil {
				t.Errorf("the write returned %v, want %v", failed, test.want)
			}
			if err == nil || !errors.Is(err, failed) {
				t.Errorf("the commit returned %v, want %v", err, failed)
			}
			view(t, db, func(tx *stoat.Tx) error {
				n, err := c.Count(tx)
				wantEqual(t, "count", n, uint64(1))
				return errors.Join(err, c.Verify(tx))
			})
		})
	}
}

func TestInsertAll_thatStoredNothingLeavesTheTransactionAsItWas(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[mailbox](t, db, "mailboxes", nil)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, c.Put(tx, &mailbox{ID: 1, Mail: "a"}))
		for _, all := range [][]*mailbox{{{ID: 1, Mail: "b"}}, {{ID: 2, Mail: "b"}, nil}} {
			if _, err := c.InsertAll(tx, slices.Values(all)); err == nil {
				t.Errorf("no error for %v", all)
			}
		}
		return nil
	})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		wantEqual(t, "count", n, uint64(1))
		return errors.Join(err, c.Verify(tx))
	})
}
