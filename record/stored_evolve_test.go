package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// The types that a collection of books has had.
type (
	bookOne struct {
		ID    int32     `stoat:"id,key"`
		Name  string    `stoat:"name,index"`
		Price float32   `stoat:"price"`
		Pages int16     `stoat:"pages,index"`
		Rank  *int8     `stoat:"rank"`
		Words []string  `stoat:"words,index"`
		Parts []partOne `stoat:"parts"`
		Gone  string    `stoat:"gone,index"`
		Place shelfOne  `stoat:"place"`
	}
	partOne struct {
		N    int32
		Text string
	}
	shelfOne struct {
		Row int8   `stoat:"row"`
		Old string `stoat:"old"`
	}
	bookTwo struct {
		ID    int64     `stoat:"id,key"`
		Title []byte    `stoat:"title,index,was=name"`
		Price float64   `stoat:"price,index"`
		Pages int64     `stoat:"pages,index"`
		Rank  *int32    `stoat:"rank,index"`
		Words [][]byte  `stoat:"words,index"`
		Parts []partTwo `stoat:"parts"`
		Place shelfTwo  `stoat:"place"`
		Read  time.Time `stoat:"read,index"`
		Codes []uint16  `stoat:"codes,index"`
		Mark  [16]byte  `stoat:"mark"`
	}
	partTwo struct {
		N    int64
		More []bool
	}
	shelfTwo struct {
		Row   float64 `stoat:"row"`
		Label string  `stoat:"label,was=old"`
	}
	bookThree struct {
		ID    int64          `stoat:"id,key"`
		Label string         `stoat:"label,index,was=title|name"`
		Price float64        `stoat:"price,index"`
		Pages int64          `stoat:"pages"`
		Rank  *int64         `stoat:"rank,index"`
		Words [][]byte       `stoat:"words,index"`
		Shelf shelfTwo       `stoat:"shelf,was=place"`
		Read  time.Time      `stoat:"read,index"`
		Codes []int32        `stoat:"codes,index"`
		Lent  map[string]int `stoat:"lent"`
		Mark  [16]byte       `stoat:"mark,index"`
		Late  bool           `stoat:"late,index"`
	}
)

// storedBooks returns a database with books of all their types.
func storedBooks(t *testing.T) (*stoat.DB, *record.Collection[bookThree]) {
	t.Helper()
	db := openMemory(t)
	r := newRand(t)
	one := mustOpen[bookOne](t, db, "books", nil)
	for i := range 20 {
		b := &bookOne{ID: int32(i), Name: randomText(r, 3), Price: float32(r.IntN(5)) / 2,
			Pages: int16(r.IntN(9) - 4), Gone: "gone",
			Place: shelfOne{int8(r.IntN(9) - 4), randomText(r, 2)}}
		for range r.IntN(3) {
			rank := int8(r.IntN(5) - 2)
			b.Rank = &rank
			b.Words = append(b.Words, randomText(r, 1))
			b.Parts = append(b.Parts, partOne{int32(i), "part"})
		}
		put(t, db, one, b)
	}
	two := mustOpen[bookTwo](t, db, "books", nil)
	for i := 20; i < 40; i++ {
		rank := int32(r.IntN(7) - 3)
		put(t, db, two, &bookTwo{ID: int64(i), Title: []byte(randomText(r, 3)), Rank: &rank,
			Price: float64(r.IntN(7)) / 2, Pages: int64(r.IntN(9)-4) << 20, Words: [][]byte{{'a'}, nil},
			Parts: []partTwo{{N: int64(i), More: []bool{true}}},
			Place: shelfTwo{float64(r.IntN(9)-4) / 2, randomText(r, 2)}, Mark: [16]byte{byte(r.IntN(3))},
			Read: time.Unix(int64(r.IntN(3)), 1).UTC(), Codes: []uint16{uint16(r.IntN(4))}})
	}
	three := mustOpen[bookThree](t, db, "books", nil)
	for i := 40; i < 60; i++ {
		rank := r.Int64N(9) - 4
		put(t, db, three, &bookThree{ID: int64(i), Label: randomText(r, 3), Rank: &rank,
			Price: float64(r.IntN(9)) / 2, Shelf: shelfTwo{float64(r.IntN(5)), randomText(r, 2)},
			Lent: map[string]int{"x": i}, Codes: []int32{-1, int32(r.IntN(4))}, Late: r.IntN(2) == 0})
	}
	return db, three
}

func TestStored_readsRecordsOfAllSchemas(t *testing.T) {
	db, typed := storedBooks(t)
	queries := [][]record.Predicate{nil, {record.HasPrefix("label", "a")}, {record.Eq("rank", nil)},
		{record.Lt("rank", 1)}, {record.Ge("price", 1)}, {record.Has("words", []byte("a"))},
		{record.Has("codes", 2)}, {record.Gt("read", time.Unix(0, 0))}, {record.Lt("shelf.row", 0.5)},
		{record.Or(record.Eq("pages", 0), record.Eq("late", true))}, {record.Eq("mark", [16]byte{1})}}
	orders := [][]string{{}, {"label"}, {"rank"}, {"pages", "price"}, {"read"}, {"shelf.label"}}
	view(t, db, func(tx *stoat.Tx) error {
		s := openStored(t, tx, "books")
		for _, where := range queries {
			for _, order := range orders {
				a := typed.Query().Where(where...).OrderBy(order...)
				b := s.Query().Where(where...).OrderBy(order...)
				wantEqual(t, "plan", b.Explain(tx), a.Explain(tx))
				want := collect(t, a.Rows(tx))
				got := collect(t, b.Rows(tx))
				if len(got) != len(want) {
					t.Fatalf("%d rows, want %d: %s", len(got), len(want), a.Explain(tx))
				}
				for i := range got {
					for _, f := range s.Fields() {
						g, errG := got[i].Value(f.Name)
						w, errW := want[i].Value(f.Name)
						if errG != nil || errW != nil {
							t.Fatal(errG, errW)
						}
						wantEqual(t, f.Name, g, w)
					}
				}
			}
		}
		return nil
	})
}

func TestStored_showsListsOfStructsAsTheyWereStored(t *testing.T) {
	db := openMemory(t)
	one := mustOpen[bookOne](t, db, "books", nil)
	put(t, db, one, &bookOne{ID: 1, Parts: []partOne{{7, "seven"}}})
	two := mustOpen[bookTwo](t, db, "books", nil)
	put(t, db, two, &bookTwo{ID: 2, Parts: []partTwo{{8, []bool{true}}}})
	view(t, db, func(tx *stoat.Tx) error {
		var all []any
		for row, err := range openStored(t, tx, "books").Query().OrderBy().Rows(tx) {
			ok(t, err)
			v, err := row.Value("parts")
			ok(t, err)
			all = append(all, v)
		}
		wantEqual(t, "parts", all, []any{
			[]any{map[string]any{"N": int64(7), "Text": "seven"}},
			[]any{map[string]any{"N": int64(8), "More": []any{true}}},
		})
		return nil
	})
}

func TestStored_takesTheNameThatAnotherFieldGaveUp(t *testing.T) {
	type first struct {
		ID int64  `stoat:"id,key"`
		A  string `stoat:"a"`
	}
	type second struct {
		ID int64  `stoat:"id,key"`
		B  string `stoat:"b,was=a"`
	}
	type third struct {
		ID int64  `stoat:"id,key"`
		A  string `stoat:"a"`
		B  string `stoat:"b"`
	}
	db := openMemory(t)
	put(t, db, mustOpen[first](t, db, "c", nil), &first{1, "one"})
	put(t, db, mustOpen[second](t, db, "c", nil), &second{2, "two"})
	c := mustOpen[third](t, db, "c", nil)
	view(t, db, func(tx *stoat.Tx) error {
		want := collect(t, c.Query().OrderBy().Rows(tx))
		for i, row := range collect(t, openStored(t, tx, "c").Query().OrderBy().Rows(tx)) {
			for _, name := range []string{"a", "b"} {
				got, err := row.String(name)
				ok(t, err)
				typed, err := want[i].String(name)
				ok(t, err)
				wantEqual(t, name, got, typed)
			}
		}
		return nil
	})
}

func TestStored_readsKeysOfAFunction(t *testing.T) {
	type place struct {
		City string `stoat:"city,index"`
		N    int32  `stoat:"n,index"`
	}
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob} {
		db := openMemory(t)
		c := mustOpen(t, db, "places", &record.Options[place]{Codec: codec,
			Key: func(p *place) tuple.Tuple { return tuple.Tuple{p.City, -p.N} }})
		for i := range 30 {
			put(t, db, c, &place{fmt.Sprintf("city %d", i%3), int32(i)})
		}
		view(t, db, func(tx *stoat.Tx) error {
			s := openStored(t, tx, "places")
			if len(s.Key()) != 0 {
				t.Errorf("key %v", s.Key())
			}
			var keys []tuple.Tuple
			q := s.Query().OrderBy().Limit(7)
			for mark := []byte(nil); ; {
				rows := collect(t, q.AfterMark(mark).Rows(tx))
				if len(rows) == 0 {
					break
				}
				for _, row := range rows {
					key, err := row.Key()
					ok(t, err)
					keys = append(keys, key)
				}
				var err error
				mark, err = q.Mark(&rows[len(rows)-1])
				ok(t, err)
			}
			wantEqual(t, "keys", keys, collect(t, c.Keys(tx)))
			if codec == record.CodecBinary {
				where := record.Eq("city", "city 1")
				got := collect(t, s.Query().Where(where).OrderBy("n").Desc().Keys(tx))
				wantEqual(t, "query", got, collect(t, c.Query().Where(where).OrderBy("n").Desc().Keys(tx)))
			}
			return nil
		})
	}
}

func TestStored_listsJSONWithoutItsFields(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecJSON))
	put(t, db, c, &person{ID: 1, Email: "a"}, &person{ID: 2, Email: "b", Home: home{Zip: 1}})
	view(t, db, func(tx *stoat.Tx) error {
		s := openStored(t, tx, "people")
		wantEqual(t, "codec", s.Codec(), record.CodecJSON)
		wantEqual(t, "key", s.Key(), []record.StoredField{{Name: "id", Type: "integer"}})
		if s.Fields() != nil {
			t.Errorf("fields %v", s.Fields())
		}
		want := collect(t, c.Query().OrderBy().Rows(tx))
		for i, row := range collect(t, s.Query().OrderBy().Rows(tx)) {
			wantEqual(t, "record", string(row.Stored()), string(want[i].Stored()))
			_, err := row.Value("email")
			wantError(t, err, "email", "without the Go type")
		}
		wantError(t, s.Query().Where(record.Eq("email", "a")).Err(), "without the Go type")
		n, err := s.Count(tx)
		if n != 2 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
		for p, err := range c.Query().Rows(tx) {
			ok(t, err)
			v, err := p.Value("level")
			if v != (*int16)(nil) || err != nil {
				t.Errorf("level of JSON is %#v, %v", v, err)
			}
			break
		}
		return nil
	})
}

func TestStored_hasExpiredRecordsUntilTheyAreSwept(t *testing.T) {
	type login struct {
		ID    int64     `stoat:"id,key"`
		Until time.Time `stoat:"until,expires"`
	}
	db := openMemory(t)
	c := mustOpen[login](t, db, "logins", nil)
	put(t, db, c, &login{ID: 1, Until: time.Unix(1, 0)}, &login{ID: 2})
	count := func(tx *stoat.Tx) (n uint64) {
		s := openStored(t, tx, "logins")
		n, err := s.Count(tx)
		ok(t, err)
		rows := collect(t, s.Query().OrderBy("until").Rows(tx))
		wantEqual(t, "rows", uint64(len(rows)), n)
		return n
	}
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records before the sweep", count(tx), uint64(2))
		live := record.Or(record.Le("until", time.Time{}), record.Gt("until", tx.Now()))
		keys := collect(t, openStored(t, tx, "logins").Query().Where(live).Keys(tx))
		wantEqual(t, "live records", keys, []tuple.Tuple{{int64(2)}})
		return nil
	})
	update(t, db, func(tx *stoat.Tx) error {
		_, err := c.Sweep(tx)
		ok(t, err)
		wantEqual(t, "records after the sweep", count(tx), uint64(1))
		return nil
	})
}
