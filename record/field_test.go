package record_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// kinds has a field of each kind that can be read alone, of named types where there may be some.
type kinds struct {
	ID    string        `stoat:"id,key"`
	Int   time.Duration `stoat:"int"`
	Uint  uint16        `stoat:"uint"`
	Float float32       `stoat:"float"`
	Bool  bool          `stoat:"bool"`
	Text  textKind      `stoat:"text"`
	Bytes bytesKind     `stoat:"bytes"`
	Time  time.Time     `stoat:"time"`
	UUID  uuidKind      `stoat:"uuid"`
	List  []int         `stoat:"list"`
	Map   map[string]bool
	Opt   *float64 `stoat:"opt,index"`
}

type (
	textKind  string
	bytesKind []byte
	uuidKind  [16]byte
)

// someKinds returns a record without zero values.
func someKinds(id string) *kinds {
	x := 1.5
	return &kinds{id, -5, 7, 0.25, true, "text", bytesKind{1, 2}, time.Unix(99, 5).UTC(),
		uuidKind{3, 4}, []int{1, 2}, map[string]bool{"a": true}, &x}
}

// readBack returns the field, and fails if it is not the wanted value after it was set.
func readBack[V any](t *testing.T, tx *stoat.Tx, c *record.Collection[kinds], name string, want V) {
	t.Helper()
	if err := record.SetField(tx, c, "b", name, want); err != nil {
		t.Fatal(err)
	}
	got, err := record.Field[V](tx, c, "b", name)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, name, got, want)
}

func TestField_ofEachKind(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
		db := openMemory(t)
		c := mustOpen(t, db, "kinds", &record.Options[kinds]{Codec: codec})
		put(t, db, c, &kinds{ID: "a"}, &kinds{ID: "b"})
		want := someKinds("b")
		update(t, db, func(tx *stoat.Tx) error {
			readBack(t, tx, c, "int", want.Int)
			readBack(t, tx, c, "uint", want.Uint)
			readBack(t, tx, c, "float", want.Float)
			readBack(t, tx, c, "bool", want.Bool)
			readBack(t, tx, c, "text", want.Text)
			readBack(t, tx, c, "bytes", want.Bytes)
			readBack(t, tx, c, "time", want.Time)
			readBack(t, tx, c, "uuid", want.UUID)
			readBack(t, tx, c, "list", want.List)
			readBack(t, tx, c, "Map", want.Map)
			readBack(t, tx, c, "opt", want.Opt)
			got, err := c.Get(tx, "b")
			if err != nil {
				return err
			}
			wantEqual(t, "all fields", got, want)
			if ok, err := c.Has(tx, "c"); ok || err != nil {
				t.Errorf("has c: %t, %v", ok, err)
			}
			if err := record.SetField(tx, c, "c", "int", want.Int); !errors.Is(err, stoat.ErrNotFound) {
				t.Errorf("set a field of no record: %v", err)
			}
			return c.Verify(tx)
		})
	}
}

func TestRow_readsEachKind(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		db := openMemory(t)
		c := mustOpen(t, db, "kinds", &record.Options[kinds]{Codec: codec})
		want := someKinds("a")
		put(t, db, c, want)
		view(t, db, func(tx *stoat.Tx) error {
			row := collect(t, c.Query().Rows(tx))[0]
			key, keyErr := row.Key()
			i, intErr := row.Int("int")
			u, uintErr := row.Uint("uint")
			f, floatErr := row.Float("float")
			b, boolErr := row.Bool("bool")
			s, stringErr := row.String("text")
			p, bytesErr := row.Bytes("bytes")
			at, timeErr := row.Time("time")
			id, uuidErr := row.UUID("uuid")
			wantEqual(t, "key", key, tuple.Tuple{"a"})
			wantEqual(t, "row", kinds{"a", time.Duration(i), uint16(u), float32(f), b, textKind(s), p,
				at, id, want.List, want.Map, want.Opt}, *want)
			if _, err := row.Int("text"); err == nil {
				t.Error("a text is read as an int")
			}
			if _, err := row.Int("list"); err == nil {
				t.Error("a list is read as an int")
			}
			row = collect(t, c.Query().Fields("int").Rows(tx))[0]
			_, err := row.Bool("bool")
			wantError(t, err, `"bool"`, "Query.Fields")
			return errors.Join(keyErr, intErr, uintErr, floatErr, boolErr, stringErr, bytesErr, timeErr,
				uuidErr)
		})
	}
}

func TestAggregates_ofAllNumbers(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
		db := openMemory(t)
		c := mustOpen(t, db, "kinds", &record.Options[kinds]{Codec: codec})
		for i, id := range []string{"a", "b", "c"} {
			k := someKinds(id)
			k.Float, k.Uint = float32(i)/2, uint16(i)
			if i == 0 {
				k.Opt = nil
			} else {
				*k.Opt = float64(-i)
			}
			put(t, db, c, k)
		}
		view(t, db, func(tx *stoat.Tx) error {
			q := c.Query()
			sum, err := q.Sum(tx, "float")
			if sum != 1.5 || err != nil {
				t.Errorf("sum of floats %v, %v", sum, err)
			}
			n, err := q.SumInt(tx, "uint")
			if n != 3 || err != nil {
				t.Errorf("sum of uints %v, %v", n, err)
			}
			avg, err := q.OrderBy("float").Desc().Limit(2).Avg(tx, "int")
			if avg != -5 || err != nil {
				t.Errorf("average %v, %v", avg, err)
			}
			least, err := q.Min(tx, "opt")
			if least != -2.0 || err != nil {
				t.Errorf("least %v, %v", least, err)
			}
			least, err = q.OrderBy("id").Limit(2).Min(tx, "opt")
			if least != -1.0 || err != nil {
				t.Errorf("least of two %v, %v", least, err)
			}
			greatest, err := q.Max(tx, "id")
			if greatest != "c" || err != nil {
				t.Errorf("greatest %v, %v", greatest, err)
			}
			_, err = q.SumInt(tx, "float")
			wantError(t, err, "field float", "use Sum")
			_, err = q.Max(tx, "list")
			wantError(t, err, "field list", "no order")
			return nil
		})
	}
}

func TestFloats_haveOneZeroAndNaNLast(t *testing.T) {
	type number struct {
		ID    int     `stoat:"id,key"`
		Value float64 `stoat:"value,index"`
	}
	db := openMemory(t)
	c := mustOpen[number](t, db, "numbers", nil)
	values := []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), 3}
	for i, v := range values {
		put(t, db, c, &number{i, v})
	}
	view(t, db, func(tx *stoat.Tx) error {
		var order []int
		for _, n := range collect(t, c.By("value").All(tx)) {
			order = append(order, n.ID)
		}
		if want := []int{4, 1, 2, 5, 3, 0}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		n, err := c.Query().Where(record.Eq("value", 0)).Count(tx)
		if n != 2 || err != nil {
			t.Errorf("%d zeros, %v, want 2", n, err)
		}
		return c.Verify(tx)
	})
}

func TestView_findsByValues(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	for i := range 12 {
		put(t, db, c, &person{ID: int64(i), Email: string(rune('a' + i)), Age: int32(i % 4),
			Home: home{string(rune('x' + i/6)), uint32(i)}, Tags: []string{"t", "t", "u"}})
	}
	view(t, db, func(tx *stoat.Tx) error {
		ids := func(all []*person) (ids []int64) {
			for _, p := range all {
				ids = append(ids, p.ID)
			}
			return ids
		}
		by := c.By("cityAge")
		wantEqual(t, "with x", len(collect(t, by.With(tx, "x"))), 6)
		wantEqual(t, "with x, 1", ids(collect(t, by.With(tx, "x", 1))), []int64{1, 5})
		low, high := tuple.Tuple{"x", 2}, tuple.Tuple{"y", 1}
		wantEqual(t, "range", ids(collect(t, by.Range(tx, low, high))), []int64{2, 3, 8})
		first, err := by.Get(tx, "y", 2)
		if err != nil || first.ID != 6 {
			t.Errorf("first %v, %v, want 6", first, err)
		}
		wantEqual(t, "elements", len(collect(t, c.By("tags").All(tx))), 24)
		_, err = c.By("email").Get(tx, "z")
		if !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("absent: %v", err)
		}
		wantError(t, err, "index email", `"z"`)
		for _, err := range by.With(tx, 1) {
			wantError(t, err, "index cityAge", "field home.city")
		}
		for _, err := range c.By("x").All(tx) {
			wantError(t, err, `no index "x"`)
		}
		for _, err := range c.Range(tx, tuple.Tuple{"x"}, nil) {
			wantError(t, err, "field id")
		}
		return nil
	})
}

func TestLoop_mayDeleteWhatItYields(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	for i := range 50 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	update(t, db, func(tx *stoat.Tx) error {
		for p, err := range c.By("tags").All(tx) {
			if err != nil {
				return err
			}
			if err := c.Delete(tx, p.ID); err != nil {
				return err
			}
		}
		for p, err := range c.Query().Where(record.Ge("age", 5)).All(tx) {
			if err != nil {
				return err
			}
			if err := record.SetField(tx, c, p.ID, "age", int32(-100)); err != nil {
				return err
			}
		}
		n, err := c.Query().Where(record.Ge("age", 5)).Count(tx)
		if n != 0 || err != nil {
			t.Errorf("%d are left, %v", n, err)
		}
		return c.Verify(tx)
	})
}
