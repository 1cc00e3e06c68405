package torture

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// events writes values in two buckets, each value similar to its neighbours, and later replaces
// them with others.
func events(r *runner) error {
	p := r.generator()
	return times(30, func(i int) error {
		kinds := []string{"login", "logout"}
		if i > 15 {
			kinds = []string{"an order, and what became of it", "a payment"}
		}
		err := r.update(func(t twin) error {
			b, err := t.create("bucket")
			if err != nil {
				return err
			}
			return times(8, func(k int) error {
				key := fmt.Sprintf("key-%03d", p.rng.IntN(200))
				if p.chance(9) {
					return errors.Join(t.delete(key), b.delete(key))
				}
				return errors.Join(t.put(key, p.event(kinds[0])), b.put(key, p.event(kinds[1])))
			})
		})
		return errors.Join(err, every(9, i, r.flush), every(12, i, r.compact),
			every(13, i, r.reopen))
	})
}

func TestEvents_areEncodedOneByOne(t *testing.T) {
	disk := memfs.New()
	p := newGenerator(1, nil)
	tuning := engine.Tuning{SampleBytes: 8 << 10, BlockBytes: 1 << 10}
	reopen := func() *stoat.DB {
		db, err := tuned.Open(disk, "db", nil, tuning)
		ok(t, err)
		return db
	}
	db := reopen()
	want := map[string]string{}
	update(t, db, func(tx *stoat.Tx) {
		for i := range 600 {
			key := fmt.Sprintf("%06d", i)
			want[key] = p.event("login")
			ok(t, tx.Put([]byte(key), []byte(want[key])))
		}
	})
	for range 3 {
		ok(t, db.Close())
		db = reopen()
		view(t, db, func(tx *stoat.Tx) {
			s, err := tx.Stats()
			ok(t, err)
			if s.PatternBytes < s.Bytes/2 || s.StoredBytes > s.Bytes/2 {
				t.Errorf("the bucket has %+v", s)
			}
			got := map[string][]byte{}
			for key := range want { // in any order
				got[key], err = tx.Get([]byte(key))
				ok(t, err)
			}
			for key, value := range want { // values are valid until the transaction ends
				equal(t, string(got[key]), value)
			}
			for key, value := range tx.Scan(stoat.Range{Start: []byte("000333")}) {
				equal(t, string(value), want[string(key)])
			}
			c := tx.Cursor()
			for key, value := c.Last(); key != nil; key, value = c.Prev() {
				equal(t, string(value), want[string(key)])
			}
			ok(t, c.Err())
		})
	}
	ok(t, db.Close())
}
