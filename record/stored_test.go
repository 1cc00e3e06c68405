package record_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// openStored opens a collection without its type.
func openStored(tb testing.TB, tx *stoat.Tx, name string) *record.Stored {
	tb.Helper()
	s, err := record.OpenStored(tx, name)
	ok(tb, err)
	return s
}

// untyped returns a value as Row.Value returns it.
func untyped(v reflect.Value) any {
	switch v.Interface().(type) {
	case time.Time, [16]byte:
		return v.Interface()
	}
	switch k := v.Kind(); {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	case k == reflect.Pointer && v.IsNil():
		return nil
	case k == reflect.Pointer:
		return untyped(v.Elem())
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return append([]byte{}, v.Bytes()...)
	case k == reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, untyped(v.Index(i)))
		}
		return list
	case k == reflect.Map:
		m := map[any]any{}
		for i := v.MapRange(); i.Next(); {
			m[untyped(i.Key())] = untyped(i.Value())
		}
		return m
	}
	return v.Interface()
}

// wantPerson compares the fields of a row with those of a person.
func wantPerson(tb testing.TB, row record.Row, p *person) {
	tb.Helper()
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("stoat")
		for j := range name {
			if name[j] == ',' {
				name = name[:j]
				break
			}
		}
		if name == "home" {
			continue
		}
		if name == "" {
			name = v.Type().Field(i).Name
		}
		got, err := row.Value(name)
		ok(tb, err)
		wantEqual(tb, name, got, untyped(v.Field(i)))
	}
	city, err := row.Value("home.city")
	ok(tb, err)
	wantEqual(tb, "home.city", city, any(p.Home.City))
	zip, err := row.Uint("home.zip")
	ok(tb, err)
	wantEqual(tb, "home.zip", zip, uint64(p.Home.Zip))
}

// randomQueries returns the same random query of a collection and of what is stored of it.
func randomQueries(
	r *rand.Rand, c *record.Collection[person], s *record.Stored,
) (record.Query[person], record.Query[record.Row]) {
	typed, stored := c.Query(), s.Query()
	for range r.IntN(4) {
		p := randomCondition(r, 2).Predicate
		typed, stored = typed.Where(p), stored.Where(p)
	}
	if order := randomOrder(r); order != nil {
		typed, stored = typed.OrderBy(order...), stored.OrderBy(order...)
	}
	if r.IntN(2) == 0 {
		typed, stored = typed.Reverse(), stored.Reverse()
	}
	if r.IntN(2) == 0 {
		n := r.IntN(20)
		typed, stored = typed.Limit(n), stored.Limit(n)
	}
	if r.IntN(3) == 0 {
		n := r.IntN(10)
		typed, stored = typed.Offset(n), stored.Offset(n)
	}
	return typed, stored
}

// randomOrder returns fields to order by, or nil.
func randomOrder(r *rand.Rand) []string {
	return [][]string{nil, {}, {"id"}, {"age"}, {"age", "id"}, {"home.city", "age"}, {"level"},
		{"email"}, {"home.city", "home.zip"}, {"score"}, {"note"}, {"born"}}[r.IntN(12)]
}

func TestStored_queriesLikeTheTypedCollection(t *testing.T) {
	db := openMemory(t)
	opts := personOptions(record.CodecBinary)
	slices.SortFunc(opts.Indexes, func(x, y record.Index) int {
		return strings.Compare(x.Name, y.Name)
	})
	c := mustOpen(t, db, "people", opts)
	r := newRand(t)
	for i := range 150 {
		put(t, db, c, randomPerson(r, int64(i)-50))
	}
	found := 0
	view(t, db, func(tx *stoat.Tx) error {
		s := openStored(t, tx, "people")
		for range 300 {
			typed, stored := randomQueries(r, c, s)
			wantEqual(t, "plan", stored.Explain(tx), typed.Explain(tx))
			wantEqual(t, "keys", collect(t, stored.Keys(tx)), collect(t, typed.Keys(tx)))
			all := collect(t, typed.All(tx))
			rows := collect(t, stored.Rows(tx))
			records := collect(t, stored.All(tx))
			if len(rows) != len(all) || len(records) != len(all) {
				t.Fatalf("%d rows and %d records of %d: %s", len(rows), len(records), len(all),
					typed.Explain(tx))
			}
			for i, p := range all {
				wantPerson(t, rows[i], p)
				wantPerson(t, *records[i], p)
			}
			found += len(all)
			wantSameSums(t, tx, typed, stored)
		}
		return nil
	})
	if found < 1000 {
		t.Errorf("the queries found only %d records", found)
	}
}

// wantSameSums compares what two queries compute.
func wantSameSums(
	t *testing.T, tx *stoat.Tx, typed record.Query[person], stored record.Query[record.Row],
) {
	t.Helper()
	n, err := typed.Count(tx)
	ok(t, err)
	m, err := stored.Count(tx)
	ok(t, err)
	wantEqual(t, "count", m, n)
	a, err := typed.SumInt(tx, "age")
	ok(t, err)
	b, err := stored.SumInt(tx, "age")
	ok(t, err)
	wantEqual(t, "sum of age", b, a)
	for _, field := range []string{"level", "score", "note"} {
		a, errA := typed.Max(tx, field)
		b, errB := stored.Max(tx, field)
		if !reflect.DeepEqual(a, b) || (errA == nil) != (errB == nil) {
			t.Fatalf("the greatest %s is %v, %v, want %v, %v", field, b, errB, a, errA)
		}
	}
	var groups [2][]record.Group
	groups[0] = collect(t, typed.Limit(0).Offset(0).GroupBy("level").Of("score").All(tx))
	groups[1] = collect(t, stored.Limit(0).Offset(0).GroupBy("level").Of("score").All(tx))
	wantEqual(t, "groups", groups[1], groups[0])
}

func TestStored_readsPagesLikeTheTypedCollection(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 100 {
		put(t, db, c, randomPerson(r, int64(i)-50))
	}
	paged := 0
	view(t, db, func(tx *stoat.Tx) error {
		s := openStored(t, tx, "people")
		for range 100 {
			typed, stored := c.Query(), s.Query()
			if r.IntN(2) == 0 {
				p := randomCondition(r, 1).Predicate
				typed, stored = typed.Where(p), stored.Where(p)
			}
			order := randomOrder(r)
			typed, stored = typed.OrderBy(order...), stored.OrderBy(order...)
			if typed.After(nil).Err() != nil {
				if stored.After(nil).Err() == nil || stored.AfterMark(nil).Err() == nil {
					t.Fatalf("a page in the order %q, which nothing gives", order)
				}
				continue
			}
			paged++
			var keys []tuple.Tuple
			page := stored.After(nil)
			for {
				rows := collect(t, page.Limit(1+r.IntN(7)).Rows(tx))
				if len(rows) == 0 {
					break
				}
				for _, row := range rows {
					key, err := row.Key()
					ok(t, err)
					keys = append(keys, key)
				}
				last := rows[len(rows)-1]
				if page = stored.After(&last); r.IntN(2) == 0 {
					mark, err := stored.Mark(&last)
					ok(t, err)
					page = stored.AfterMark(mark)
				}
			}
			wantEqual(t, "keys: "+typed.Explain(tx), keys, collect(t, typed.Keys(tx)))
		}
		return nil
	})
	if paged < 20 {
		t.Errorf("only %d queries had pages", paged)
	}
}

func TestStored_describesTheCollection(t *testing.T) {
	db := openMemory(t)
	mustOpen(t, db, "people", personOptions(record.CodecBinary))
	view(t, db, func(tx *stoat.Tx) error {
		s := openStored(t, tx, "people")
		wantEqual(t, "name", s.Name(), "people")
		wantEqual(t, "codec", s.Codec(), record.CodecBinary)
		wantEqual(t, "key", s.Key(), []record.StoredField{{Name: "id", Type: "int64"}})
		types := map[string]string{}
		for _, f := range s.Fields() {
			types[f.Name] = f.Type
		}
		wantEqual(t, "fields", types, map[string]string{"id": "int64", "email": "string",
			"age": "int32", "tags": "list of string", "score": "float64", "born": "time",
			"token": "uuid", "blob": "bytes", "active": "bool", "level": "optional int16",
			"codes": "list of uint16", "home.city": "string", "home.zip": "uint32", "note": "string",
			"Extra": "map[string]int64"})
		unique := 0
		for _, x := range s.Indexes() {
			if x.Unique {
				unique++
			}
		}
		if n := len(s.Indexes()); n != 13 || unique != 2 {
			t.Errorf("%d indexes, %d of them unique", n, unique)
		}
		return nil
	})
}

func TestStored_neverWrites(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	put(t, db, c, randomPerson(newRand(t), 1))
	err := db.Update(func(tx *stoat.Tx) error {
		q := openStored(t, tx, "people").Query()
		if _, err := q.Delete(tx); !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("delete: %v", err)
		}
		_, err := q.Update(tx, func(*record.Row) error { return nil })
		if !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("update: %v", err)
		}
		n, err := q.Count(tx)
		if n != 1 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
		return nil
	})
	ok(t, err)
	view(t, db, c.Verify)
}

func TestOpenStored_saysWhatIsWrong(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	put(t, db, c, randomPerson(newRand(t), 1))
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("plain"))
		return err
	})
	var s *record.Stored
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := record.OpenStored(tx, "none"); !errors.Is(err, stoat.ErrBucketNotFound) {
			t.Errorf("no collection: %v", err)
		}
		_, err := record.OpenStored(tx, "plain")
		wantError(t, err, `"plain"`, "not a collection")
		s = openStored(t, tx, "people")
		wantError(t, s.Query().Where(record.Eq("nobody", 1)).Err(), "the collection has no field",
			"home.city")
		wantError(t, s.Query().Where(record.Eq("Extra", 1)).Err(), "cannot be compared")
		wantError(t, s.Query().OrderBy("tags").Err(), "no order")
		for row, err := range s.Query().Fields("age").Rows(tx) {
			ok(t, err)
			_, err := row.Value("email")
			wantError(t, err, "not requested")
		}
		return nil
	})
	mustOpen[person](t, db, "people", nil)
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := s.Count(tx); !errors.Is(err, record.ErrOutdated) {
			t.Errorf("after a change: %v", err)
		}
		return nil
	})
}
