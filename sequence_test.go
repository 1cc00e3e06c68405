package stoat_test

import (
	"math"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func wantNext(t *testing.T, s stoat.KeySpace, want uint64) {
	t.Helper()
	n, err := s.NextSequence()
	ok(t, err)
	equal(t, n, want)
	n, err = s.Sequence()
	ok(t, err)
	equal(t, n, want)
}

func TestNextSequence_countsFromOne(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		n, err := s.Sequence()
		ok(t, err)
		equal(t, n, 0)
		for want := range uint64(300) {
			wantNext(t, s, want+1)
		}
		wantKeys(t, s)
	})
}

func TestSetSequence_movesInBothDirections(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		for _, n := range []uint64{1000, 5, 0, 1 << 62} {
			ok(t, s.SetSequence(n))
			wantNext(t, s, n+1)
		}
	})
}

func TestNextSequence_endsWithTheNumbers(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		ok(t, s.SetSequence(math.MaxUint64))
		_, err := s.NextSequence()
		wantErr(t, err, stoat.ErrTooLarge)
	})
}

func TestNextSequence_survivesReopening(t *testing.T) {
	fs := memfs.New()
	for i := range uint64(3) {
		db := openOn(t, fs, nil)
		update(t, db, func(tx *stoat.Tx) {
			wantNext(t, tx, i+1)
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			ok(t, err)
			wantNext(t, b, 2*i+1)
			wantNext(t, b, 2*i+2)
		})
		ok(t, db.Close())
	}
}

func TestNextSequence_isTransactional(t *testing.T) {
	db := memory(t)
	tx := begin(t, db, true)
	wantNext(t, tx, 1)
	wantNext(t, tx, 2)
	ok(t, tx.Rollback())
	update(t, db, func(tx *stoat.Tx) { wantNext(t, tx, 1) })
}
