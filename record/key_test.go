package record_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// pair has a key of two fields.
type pair struct {
	A string `stoat:"a,key"`
	B int    `stoat:"b,key"`
	C string `stoat:"c,index"`
}

func TestKeys_ofSeveralFields(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[pair](t, db, "pairs", nil)
	var all []*pair
	for i := range 12 {
		all = append(all, &pair{string(rune('a' + i/4)), i%4 - 2, "c"})
	}
	put(t, db, c, all...)
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.Get(tx, tuple.Tuple{"b", -1})
		if err != nil {
			return err
		}
		wantEqual(t, "b, -1", got, all[5])
		wantEqual(t, "range", collect(t, c.Range(tx, tuple.Tuple{"a", 1}, tuple.Tuple{"c"})),
			all[3:8])
		wantEqual(t, "with b", collect(t, c.With(tx, "b")), all[4:8])
		wantEqual(t, "by c", collect(t, c.By("c").All(tx)), all)
		return c.Verify(tx)
	})
}

func TestKeys_ofAFunction(t *testing.T) {
	type word struct{ Text string }
	db := openMemory(t)
	c := mustOpen(t, db, "words", &record.Options[word]{Key: func(w *word) tuple.Tuple {
		return tuple.Tuple{len(w.Text), w.Text}
	}})
	put(t, db, c, &word{"stoat"}, &word{"owl"}, &word{"fox"}, &word{"owl"})
	view(t, db, func(tx *stoat.Tx) error {
		want := []*word{{"fox"}, {"owl"}, {"stoat"}}
		wantEqual(t, "all", collect(t, c.All(tx)), want)
		wantEqual(t, "of 3", collect(t, c.Range(tx, nil, tuple.Tuple{4})), want[:2])
		got, err := c.Get(tx, tuple.Tuple{5, "stoat"})
		if err != nil {
			return err
		}
		wantEqual(t, "stoat", got, want[2])
		return c.Verify(tx)
	})
	update(t, db, func(tx *stoat.Tx) error {
		wantError(t, record.SetField(tx, c, tuple.Tuple{3, "owl"}, "Text", "eagle"), "changed the key")
		return c.Delete(tx, tuple.Tuple{3, "owl"})
	})
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "without the owl", collect(t, c.All(tx)), []*word{{"fox"}, {"stoat"}})
		return c.Verify(tx)
	})
}
