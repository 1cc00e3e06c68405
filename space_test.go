package stoat_test

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// inEachSpace runs fn in a writable transaction of a new database: on the root, in a bucket, and in
// a bucket within a bucket.
func inEachSpace(t *testing.T, fn func(t *testing.T, s stoat.KeySpace)) {
	t.Helper()
	spaces := map[string]func(t *testing.T, tx *stoat.Tx) stoat.KeySpace{
		"root":   func(_ *testing.T, tx *stoat.Tx) stoat.KeySpace { return tx },
		"bucket": func(t *testing.T, tx *stoat.Tx) stoat.KeySpace { return create(t, tx, "b") },
		"nested": func(t *testing.T, tx *stoat.Tx) stoat.KeySpace {
			return create(t, create(t, tx, "b"), "b")
		},
	}
	for name, space := range spaces {
		t.Run(name, func(t *testing.T) {
			update(t, memory(t), func(tx *stoat.Tx) { fn(t, space(t, tx)) })
		})
	}
}

func TestGet_returnsWhatWasPut(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b")
		put(t, s, "a")
		wantKeys(t, s, "a", "b")
		v, err := s.Get([]byte("a"))
		ok(t, err)
		equal(t, string(v), "v-a")
	})
}

func TestGet_absentKeyIsNotFound(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a")
		_, err := s.Get([]byte("b"))
		wantErr(t, err, stoat.ErrNotFound)
		has, err := s.Has([]byte("b"))
		ok(t, err)
		equal(t, has, false)
	})
}

func TestGet_emptyValueIsNotNil(t *testing.T) {
	for _, value := range [][]byte{nil, {}} {
		db := memory(t)
		check := func(tx *stoat.Tx) {
			t.Helper()
			v, err := tx.Get([]byte("k"))
			ok(t, err)
			if v == nil || len(v) != 0 {
				t.Errorf("Get returns %#v, want an empty slice that is not nil", v)
			}
			has, err := tx.Has([]byte("k"))
			ok(t, err)
			equal(t, has, true)
			for _, v := range tx.Scan(stoat.Range{}) {
				equal(t, v != nil, true)
			}
			_, v = tx.Cursor().First()
			equal(t, v != nil, true)
		}
		update(t, db, func(tx *stoat.Tx) {
			ok(t, tx.Put([]byte("k"), value))
			check(tx)
		})
		view(t, db, check)
		ok(t, db.Flush())
		view(t, db, check)
		v, err := db.Get([]byte("k"))
		ok(t, err)
		equal(t, v != nil, true)
	}
}

func TestPut_copiesKeyAndValue(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		key, value := []byte("a"), []byte("v-a")
		ok(t, s.Put(key, value))
		key[0], value[0] = 'x', 'x'
		wantKeys(t, s, "a")
	})
}

func TestGet_valueSurvivesLaterWrites(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a")
		v, err := s.Get([]byte("a"))
		ok(t, err)
		ok(t, s.Put([]byte("a"), []byte("new")))
		ok(t, s.Delete([]byte("a")))
		equal(t, string(v), "v-a")
	})
}

func TestGet_appendingToTheSlicesChangesNothing(t *testing.T) {
	check := func(t *testing.T, s stoat.KeySpace) {
		t.Helper()
		for k, v := range s.Scan(stoat.Range{}) {
			_, _ = append(k, "overwritten"...), append(v, "overwritten"...)
			v, err := s.Get(k)
			ok(t, err)
			_ = append(v, "overwritten"...)
		}
		for k := range s.Keys(stoat.Range{}) {
			_ = append(k, "overwritten"...)
		}
		c := s.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			_, _ = append(k, "overwritten"...), append(v, "overwritten"...)
		}
		wantKeys(t, s, "a", "b", "c")
	}
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b", "c")
		check(t, s)
	})
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	ok(t, db.Flush())
	view(t, db, func(tx *stoat.Tx) { check(t, tx) })
}

func TestDelete_removesTheKey(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b", "c")
		ok(t, s.Delete([]byte("b")))
		wantKeys(t, s, "a", "c")
	})
}

func TestDelete_absentKeyIsNoError(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a")
		ok(t, s.Delete([]byte("b")))
		wantKeys(t, s, "a")
	})
}

func TestKeys_outsideTheLimitsAreRefused(t *testing.T) {
	calls := map[string]func(s stoat.KeySpace, key []byte) error{
		"Get":    func(s stoat.KeySpace, key []byte) error { _, err := s.Get(key); return err },
		"Has":    func(s stoat.KeySpace, key []byte) error { _, err := s.Has(key); return err },
		"Put":    func(s stoat.KeySpace, key []byte) error { return s.Put(key, nil) },
		"Delete": func(s stoat.KeySpace, key []byte) error { return s.Delete(key) },
		"CompareAndSwap": func(s stoat.KeySpace, key []byte) error {
			_, err := s.CompareAndSwap(key, nil, nil)
			return err
		},
		"CompareAndDelete": func(s stoat.KeySpace, key []byte) error {
			_, err := s.CompareAndDelete(key, nil)
			return err
		},
		"Bucket": func(s stoat.KeySpace, key []byte) error { _, err := s.Bucket(key); return err },
		"CreateBucket": func(s stoat.KeySpace, key []byte) error {
			_, err := s.CreateBucket(key)
			return err
		},
		"CreateBucketIfNotExists": func(s stoat.KeySpace, key []byte) error {
			_, err := s.CreateBucketIfNotExists(key)
			return err
		},
		"DeleteBucket": func(s stoat.KeySpace, key []byte) error { return s.DeleteBucket(key) },
	}
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		for name, call := range calls {
			t.Run(name, func(t *testing.T) {
				wantErr(t, call(s, nil), stoat.ErrInvalidKey)
				wantErr(t, call(s, []byte{}), stoat.ErrInvalidKey)
				err := call(s, make([]byte, 65_536))
				wantErr(t, err, stoat.ErrTooLarge)
				if !strings.Contains(err.Error(), "65,535") {
					t.Errorf("error %q does not name the limit", err)
				}
			})
		}
		wantKeys(t, s)
	})
}

func TestPut_takesTheLongestKeyAndName(t *testing.T) {
	long := strings.Repeat("\xff", 65_535)
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, long)
		put(t, create(t, s, long), long)
		wantKeys(t, s, long)
		wantKeys(t, bucket(t, s, long), long)
		equalKeys(t, keysOf(s.Buckets())[len(keysOf(s.Buckets()))-1:], []string{long})
	})
}

func TestPut_valueAboveTheLimitIsRefused(t *testing.T) {
	tooLong := make([]byte, 1<<30+1) // untouched, so that it costs address space only
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		err := tx.Put([]byte("k"), tooLong)
		wantErr(t, err, stoat.ErrTooLarge)
		if !strings.Contains(err.Error(), "1 GiB") {
			t.Errorf("error %q does not name the limit", err)
		}
		_, err = tx.CompareAndSwap([]byte("k"), nil, tooLong)
		wantErr(t, err, stoat.ErrTooLarge)
		wantKeys(t, tx)
	})
}

func TestCompareAndSwap_storesOnlyOverTheOldValue(t *testing.T) {
	tests := map[string]struct {
		stored []byte // nil: absent
		old    []byte
		want   bool
	}{
		"absent as expected":    {nil, nil, true},
		"absent, value wanted":  {nil, []byte("x"), false},
		"absent, empty wanted":  {nil, []byte{}, false},
		"value as expected":     {[]byte("x"), []byte("x"), true},
		"value, another wanted": {[]byte("x"), []byte("y"), false},
		"value, absence wanted": {[]byte("x"), nil, false},
		"empty as expected":     {[]byte{}, []byte{}, true},
		"empty, absence wanted": {[]byte{}, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
				if test.stored != nil {
					ok(t, s.Put([]byte("k"), test.stored))
				}
				swapped, err := s.CompareAndSwap([]byte("k"), test.old, []byte("new"))
				ok(t, err)
				equal(t, swapped, test.want)
				want := string(test.stored)
				if test.want {
					want = "new"
				}
				v, _ := s.Get([]byte("k"))
				equal(t, string(v), want)
			})
		})
	}
}

func TestCompareAndSwap_nilStoresAnEmptyValue(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		swapped, err := s.CompareAndSwap([]byte("k"), nil, nil)
		ok(t, err)
		equal(t, swapped, true)
		v, err := s.Get([]byte("k"))
		ok(t, err)
		equal(t, len(v), 0)
	})
}

func TestCompareAndDelete_removesOnlyTheOldValue(t *testing.T) {
	tests := map[string]struct {
		stored []byte // nil: absent
		old    []byte
		want   bool
	}{
		"absent":                {nil, []byte("x"), false},
		"absent, nil":           {nil, nil, false},
		"value as expected":     {[]byte("x"), []byte("x"), true},
		"value, another wanted": {[]byte("x"), []byte("y"), false},
		"value, nil":            {[]byte("x"), nil, false},
		"empty as expected":     {[]byte{}, []byte{}, true},
		"empty, nil":            {[]byte{}, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
				if test.stored != nil {
					ok(t, s.Put([]byte("k"), test.stored))
				}
				deleted, err := s.CompareAndDelete([]byte("k"), test.old)
				ok(t, err)
				equal(t, deleted, test.want)
				has, err := s.Has([]byte("k"))
				ok(t, err)
				equal(t, has, test.stored != nil && !test.want)
			})
		})
	}
}
