package record_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// openHomes returns a collection of persons 0 to 4 with the addresses "0" to "4".
func openHomes(t *testing.T) (*stoat.DB, *record.Collection[person]) {
	t.Helper()
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	for i := range 5 {
		put(t, db, c, &person{ID: int64(i), Email: fmt.Sprint(i), Home: home{"x", uint32(i)}})
	}
	return db, c
}

func TestView_updatesByAUniqueIndex(t *testing.T) {
	db, c := openHomes(t)
	errNo := errors.New("no")
	update(t, db, func(tx *stoat.Tx) error {
		age := func(n int32) func(*person) error {
			return func(p *person) error { p.Age = n; return nil }
		}
		err := errors.Join(c.By("email").Update(tx, "3", age(33)),
			c.By("cityZip").Update(tx, tuple.Tuple{"x", 2}, age(22)),
			c.By("email").Update(tx, "1", func(p *person) error { p.Email = "one"; return nil }))
		if err != nil {
			return err
		}
		err = c.By("email").Update(tx, "1", age(0))
		wantError(t, err, `collection "people"`, "index email", `"1"`)
		if !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("absent: %v", err)
		}
		err = c.By("email").Update(tx, "0", func(*person) error { return errNo })
		if !errors.Is(err, errNo) {
			t.Errorf("refused: %v", err)
		}
		err = c.By("email").Update(tx, "0", func(p *person) error { p.Email = "3"; return nil })
		if !errors.Is(err, record.ErrDuplicate) {
			t.Errorf("duplicate: %v", err)
		}
		return c.Verify(tx)
	})
	view(t, db, func(tx *stoat.Tx) error {
		three, err := c.Get(tx, 3)
		two, twoErr := c.Get(tx, 2)
		one, oneErr := c.By("email").Get(tx, "one")
		if err := errors.Join(err, twoErr, oneErr); err != nil {
			return err
		}
		wantEqual(t, "changes", []any{three.Age, two.Age, one.ID}, []any{int32(33), int32(22), int64(1)})
		return nil
	})
}

func TestView_deletesByAUniqueIndex(t *testing.T) {
	db, c := openHomes(t)
	update(t, db, func(tx *stoat.Tx) error {
		return errors.Join(c.By("email").Delete(tx, "3"), c.By("email").Delete(tx, "3"),
			c.By("cityZip").Delete(tx, tuple.Tuple{"x", 0}), c.Verify(tx))
	})
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "keys", collect(t, c.Keys(tx)),
			[]tuple.Tuple{{int64(1)}, {int64(2)}, {int64(4)}})
		return c.Verify(tx)
	})
}

func TestView_changesNothingThatIsNotOneRecord(t *testing.T) {
	db, c := openHomes(t)
	keep := func(*person) error { return nil }
	update(t, db, func(tx *stoat.Tx) error {
		wantError(t, c.By("age").Update(tx, 0, keep), "index age", "not unique")
		wantError(t, c.By("age").Delete(tx, 0), "index age", "not unique")
		wantError(t, c.By("nmae").Delete(tx, 0), `no index "nmae"`)
		wantError(t, c.By("email").Delete(tx, 3), "index email", "field email", "string")
		wantError(t, c.By("cityZip").Delete(tx, "x"), "index cityZip", "1 values", "home.zip")
		return nil
	})
	view(t, db, func(tx *stoat.Tx) error {
		for _, err := range []error{
			c.By("email").Update(tx, "3", keep), c.By("email").Delete(tx, "absent"),
		} {
			if !errors.Is(err, stoat.ErrReadOnly) {
				t.Errorf("in a read-only transaction: %v", err)
			}
		}
		if n, err := c.Count(tx); n != 5 || err != nil {
			t.Errorf("count %d, %v", n, err)
		}
		return c.Verify(tx)
	})
}
