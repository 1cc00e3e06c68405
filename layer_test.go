package stoat_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
)

func TestLocal_isKeptUntilTheTransactionEnds(t *testing.T) {
	db := memory(t)
	made := 0
	look := func(tx *stoat.Tx) error {
		type key struct{ n int }
		for n := range 3 {
			for range 2 {
				got := stoat.Local(tx, key{n}, func() int { made++; return n })
				if got != n {
					t.Errorf("under %d is %v", n, got)
				}
			}
		}
		return nil
	}
	ok(t, db.View(look))
	ok(t, db.View(look))
	ok(t, db.Update(look))
	if made != 9 {
		t.Errorf("%d values were made in three transactions, want three in each", made)
	}
}

func TestBeforeCommit_callsInOrderAndMayWrite(t *testing.T) {
	db := memory(t)
	var order []int
	ok(t, db.Update(func(tx *stoat.Tx) error {
		return errors.Join(
			tx.BeforeCommit(func() error {
				order = append(order, 1)
				return tx.BeforeCommit(func() error {
					order = append(order, 3)
					return tx.Put([]byte("k"), []byte("late"))
				})
			}),
			tx.BeforeCommit(func() error { order = append(order, 2); return nil }),
			tx.Put([]byte("k"), []byte("early")),
		)
	}))
	if !slices.Equal(order, []int{1, 2, 3}) {
		t.Errorf("called in the order %v", order)
	}
	if got, err := db.Get([]byte("k")); string(got) != "late" {
		t.Errorf("k is %q: %v", got, err)
	}
}

func TestBeforeCommit_errorRollsBack(t *testing.T) {
	db := memory(t)
	errRefused := errors.New("refused")
	err := db.Update(func(tx *stoat.Tx) error {
		ok(t, tx.BeforeCommit(func() error { return errRefused }))
		ok(t, tx.BeforeCommit(func() error { t.Error("called after an error"); return nil }))
		return tx.Put([]byte("k"), nil)
	})
	wantErr(t, err, errRefused)
	_, err = db.Get([]byte("k"))
	wantErr(t, err, stoat.ErrNotFound)
}

func TestBeforeCommit_thatRollsBackFailsTheCommit(t *testing.T) {
	db := memory(t)
	wantErr(t, db.Update(func(tx *stoat.Tx) error {
		return tx.BeforeCommit(tx.Rollback)
	}), stoat.ErrTxClosed)
	ok(t, db.Put([]byte("k"), nil))
}

func TestBeforeCommit_mayNotCommit(t *testing.T) {
	db := memory(t)
	tx, err := db.Begin(true)
	ok(t, err)
	ok(t, tx.BeforeCommit(func() error {
		if err := tx.Commit(); err == nil {
			t.Error("a commit within a commit works")
		}
		return nil
	}))
	ok(t, tx.Commit())
}

func TestLocal_keepsANilInterface(t *testing.T) {
	ok(t, memory(t).View(func(tx *stoat.Tx) error {
		made := 0
		for range 3 {
			stoat.Local(tx, 1, func() error { made++; return nil })
		}
		equal(t, made, 1)
		return nil
	}))
}

func TestBeforeCommit_isNotCalledByARollback(t *testing.T) {
	db := memory(t)
	tx, err := db.Begin(true)
	ok(t, err)
	ok(t, tx.BeforeCommit(func() error { t.Error("called"); return nil }))
	ok(t, tx.Rollback())
	wantErr(t, tx.BeforeCommit(func() error { return nil }), stoat.ErrTxClosed)
	ok(t, db.View(func(tx *stoat.Tx) error {
		wantErr(t, tx.BeforeCommit(func() error { return nil }), stoat.ErrReadOnly)
		return nil
	}))
}

func TestNow_isOneMomentInATransaction(t *testing.T) {
	now := time.Unix(1000, 0)
	db, err := tuned.OpenMemory(nil, engine.Tuning{Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	ok(t, err)
	var last time.Time
	var kept *stoat.Tx
	for _, run := range []func(func(*stoat.Tx) error) error{db.View, db.View, db.Update} {
		ok(t, run(func(tx *stoat.Tx) error {
			first := tx.Now()
			if !first.After(last) || !tx.Now().Equal(first) {
				t.Errorf("%v, and then %v, after a transaction at %v", first, tx.Now(), last)
			}
			last, kept = first, tx
			return nil
		}))
	}
	if !kept.Now().IsZero() {
		t.Errorf("a transaction that has ended tells %v", kept.Now())
	}
	ok(t, db.Close())
}
