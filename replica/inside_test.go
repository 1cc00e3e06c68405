package replica

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// A transaction may meet any number of collections, and entries of collections that are new to a
// replica, or were new in a transaction that failed, say which ones they are.
func TestCollection_ofWhichThereAreMany(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	const many = 3 * fewInside
	var all []*record.Collection[textByKey]
	for i := range many {
		texts, err := Collection[textByKey](a.space, fmt.Sprint("texts", i), nil)
		must(t, err)
		all = append(all, texts)
	}
	for round := range 3 {
		for i, texts := range all {
			text := fmt.Sprint(round, i)
			a.update(func(tx *stoat.Tx) error { return texts.Put(tx, &textByKey{"k", text}) })
			if err := a.db.Update(func(tx *stoat.Tx) error {
				tr, err := a.space.in(tx)
				must(t, err)
				number, err := tr.collectionNumber(fmt.Sprint("rolled back", round, i))
				must(t, err)
				_, err = tr.collectionName(number) // the next collection gets it
				must(t, err)
				return stoat.ErrTxClosed
			}); err == nil {
				t.Fatal("it was not rolled back")
			}
		}
		meet(t, a, b)
		agree(t, a, b)
		if facts := factsOf(b); len(facts) < many*(round+1) {
			t.Errorf("%d entries", len(facts))
		}
		if _, err := Collection[textByKey](b.space, fmt.Sprint("texts", round), nil); err != nil {
			t.Error(err)
		}
		late, err := Collection[textByKey](a.space, fmt.Sprint("late", round), nil)
		must(t, err)
		all = append(all, late)
	}
	for _, texts := range all {
		a.update(func(tx *stoat.Tx) error { return texts.Put(tx, &textByKey{"k", "last"}) })
	}
	meet(t, a, b)
	agree(t, a, b)
	compareWithModel(t, b)
	compareWithModel(t, a)
}

// A transaction that has read the names of collections, and then fails, leaves none of its own.
func TestCollectionName_ofAFailedTransactionIsForgotten(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	a.open() // knows no names yet
	var number uint32
	err := a.db.Update(func(tx *stoat.Tx) error {
		tr, err := a.space.in(tx)
		must(t, err)
		known, err := tr.collectionNumber("tasks")
		must(t, err)
		_, err = tr.collectionName(known)
		must(t, err)
		number, err = tr.collectionNumber("rolled back")
		must(t, err)
		_, err = tr.collectionName(number)
		must(t, err)
		return stoat.ErrTxClosed
	})
	if name, ok := a.space.nameOf(number); err == nil || ok {
		t.Errorf("collection %d has the name %q after the error %v", number, name, err)
	}
}
