package ask

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// thing has fields of all kinds.
type thing struct {
	ID    int64          `stoat:"id,key"`
	Name  string         `stoat:"name,index"`
	Size  uint8          `stoat:"size"`
	Price float32        `stoat:"price"`
	Good  bool           `stoat:"good"`
	Born  time.Time      `stoat:"born,index"`
	Token [16]byte       `stoat:"token"`
	Blob  []byte         `stoat:"blob"`
	Rank  *int32         `stoat:"rank,index"`
	Nick  *string        `stoat:"nick"`
	Tags  []string       `stoat:"tags,index"`
	Codes []int16        `stoat:"codes"`
	Extra map[string]int `stoat:"extra"`
	Home  struct {
		City string `stoat:"city"`
	} `stoat:"home"`
	Odd string `stoat:"order of the day"`
}

// noon is the time of all queries.
func noon() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// things calls fn with a collection of things.
func things(tb testing.TB, fn func(tx *stoat.Tx, s *record.Stored)) {
	tb.Helper()
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	c, err := record.Open[thing](db, "things", nil)
	if err != nil {
		tb.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for i := range 12 {
			t := &thing{ID: int64(i), Name: strings.Repeat("a", i%4), Size: uint8(i), Good: i%2 == 0,
				Price: float32(i) / 4, Born: noon().Add(time.Duration(i-6) * time.Hour),
				Token: [16]byte{byte(i % 3)}, Blob: []byte{0, byte(i % 2)}}
			if i%3 > 0 {
				rank, nick := int32(i%5)-2, []string{"a", "ab", "b", "\xff", "\xff\xff"}[i%5]
				t.Rank, t.Nick = &rank, &nick
			}
			if i%4 == 0 {
				t.Tags, t.Codes = []string{"x", "y"}, []int16{-1, int16(i)}
			}
			t.Home.City, t.Odd = []string{"Ulm", "Bonn"}[i%2], "odd"
			if err := c.Put(tx, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		s, err := record.OpenStored(tx, "things")
		if err != nil {
			return err
		}
		fn(tx, s)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// find returns the keys that a query finds, in its order.
func find(tb testing.TB, tx *stoat.Tx, s *record.Stored, text string) []int64 {
	tb.Helper()
	q, err := Parse(text, s.Fields(), noon())
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	keys := []int64{}
	for key, err := range q.Of(s).Limit(q.Limit()).Keys(tx) {
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		id, ok := key[0].(int64)
		if !ok {
			tb.Fatalf("key %v", key)
		}
		keys = append(keys, id)
	}
	return keys
}

func TestParse_findsWhatItSays(t *testing.T) {
	things(t, func(tx *stoat.Tx, s *record.Stored) {
		for text, want := range map[string][]int64{
			"":                                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
			"  limit 2":                           {0, 1},
			"order by key desc limit 3":           {11, 10, 9},
			"ORDER BY name DESC, id desc LIMIT 2": {11, 7},
			"id = 0x0a":                           {10},
			"id==-1":                              {},
			"size >= 10":                          {10, 11},
			"size ≥ 10 and id != 11":              {10},
			"size<2 or id > 10":                   {0, 1, 11},
			"not (size < 10)":                     {10, 11},
			"not not size = 3":                    {3},
			"price = 0.25":                        {1},
			"price < 1e-1":                        {0},
			"price < inf and id = 1":              {1},
			"price > -inf and id = 1":             {1},
			"price < +inf and id = 1":             {1},
			"price between -INF and -0.5":         {},
			"good and id < 3":                     {0, 2},
			"not good and id < 3":                 {1},
			"good = false and id < 2":             {1},
			`born > now and born <= now + 2h`:     {7, 8},
			`born between now - 1h and now`:       {5, 6},
			`born < now -5h`:                      {0},
			`born > "2026-01-31 16:30"`:           {11},
			`born >= '2026-01-31T18:00:00+02:00'`: {10, 11},
			`born < "2026-01-31"`:                 {},
			`born > now - 7d and id = 3`:          {3},
			`token = "02000000000000000000000000000000" and id < 3`:     {2},
			`token = "02000000-0000-0000-0000-000000000000" and id < 3`: {2},
			`blob = x"0001" and id < 4`:                                 {1, 3},
			`blob = "\x00\x01" and id < 4`:                              {1, 3},
			"rank is null and id < 5":                                   {0, 3},
			"rank = null and id < 5":                                    {0, 3},
			"rank is not null and id < 4":                               {1, 2},
			"rank in (1, 2, null) and id < 5":                           {0, 3, 4},
			"rank not in (1, 2) and id < 5":                             {0, 1, 2, 3},
			"not (rank < 0) and id < 4":                                 {0, 2, 3},
			`tags has "x" and id > 3`:                                   {4, 8},
			`codes has -1 and codes has 8`:                              {8},
			`home.city = "Ulm" and id < 3`:                              {0, 2},
			`name starts with "aa" and id < 4`:                          {2, 3},
			`name not starts with 'a' and id < 9`:                       {0, 4, 8},
			`name not starts with ""`:                                   {},
			`nick not starts with "\xff" and id < 5`:                    {0, 1, 2, 3},
			"`order of the day` = 'odd' and id = 7":                     {7},
			`size between 3 and 1`:                                      {},
			`not size between 1 and 10`:                                 {0, 11},
			`name = "a" order by id desc`:                               {9, 5, 1},
			`(id = 1 or id = 2) and (id = 2 or id = 3)`:                 {2},
		} {
			got := find(t, tx, s, text)
			if !strings.Contains(strings.ToLower(text), "order by") {
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	})
}

// tests are conditions without not.
var tests = []string{"size = 3", "size <> 3", "size < 5", "size <= 5", "size > 5", "size >= 5",
	"size between 2 and 7", "size between 7 and 2", "size in (1, 5, 7)", "good", "rank = 1",
	"rank != 1", "rank < 1", "rank <= 1", "rank > 1", "rank >= 1",
	"rank between -1 and 1", "rank in (1, null)",
	"rank in (-1)", "rank is null", "rank is not null", `name starts with "aa"`, `name starts with ""`,
	`nick starts with "a"`, `nick starts with "\xff"`, `nick > "a"`, "born < now", `blob >= x"0001"`,
	"size = 1 or rank = 2", "size < 7 and rank > -1", "not (good and rank < 1) or size = 4"}

func TestParse_notIsTheOpposite(t *testing.T) {
	things(t, func(tx *stoat.Tx, s *record.Stored) {
		for _, test := range tests {
			both := slices.Concat(find(t, tx, s, test), find(t, tx, s, "not ("+test+")"))
			slices.Sort(both)
			if !slices.Equal(both, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
				t.Errorf("%s, and not, find %v", test, both)
			}
		}
	})
}

func TestParse_saysWhatIsWrongAndWhere(t *testing.T) {
	things(t, func(_ *stoat.Tx, s *record.Stored) {
		for _, c := range []struct {
			text   string
			column int
			says   string
		}{
			{"nobody = 1", 1, "no field nobody; there are id, name"},
			{"id = 1 and nobody = 1", 12, "nobody"},
			{`name = "äöü" and nobody`, 18, "nobody"},
			{"id", 3, "a comparison of id, not the end"},
			{"id = ", 6, "whole number, not the end"},
			{"id = 1.5", 6, "id has type int64: write a whole number, not 1.5"},
			{"price = -x", 9, "write a number, not -"},
			{"price = -nan", 9, "write a number, not -"},
			{`id = "` + strings.Repeat("x", 39) + `ö"`, 6, `not "` + strings.Repeat("x", 39) + `…"`},
			{`id = x"` + strings.Repeat("ab", 40) + `"`, 6, `not x"` + strings.Repeat("ab", 20) + `…"`},
			{"id = 99999999999999999999", 6, "does not fit in 64 bits"},
			{"id = 'x'", 6, `not "x"`},
			{"name = Ulm", 8, "in quotes, not Ulm"},
			{`name = "Ulm`, 8, "no closing"},
			{`name = "a\q"`, 10, "no such escape"},
			{"good = 1", 8, "true or false"},
			{"born > yesterday", 8, "2026-01-31"},
			{"born > now - fast", 8, "a duration"},
			{`token = "1"`, 9, "6ba7b810"},
			{`blob = x"0"`, 8, "pairs of hexadecimal digits"},
			{`tags = "x"`, 6, "has, as tags is a list"},
			{`not tags has "x"`, 10, "cannot be negated"},
			{`name has "x"`, 6, "a comparison of name"},
			{"extra = 1", 1, "map[string]int64, which cannot be compared"},
			{"id is null", 7, "never null"},
			{"rank < null", 8, "null has no order"},
			{"rank between null and 1", 14, "cannot be a bound"},
			{"id starts with 'a'", 16, "is for strings"},
			{"name starts 'a'", 13, "with"},
			{"id in 1", 7, "("},
			{"id in (1 2)", 10, ") or a comma"},
			{"(id = 1", 8, ") or and, or"},
			{"id = 1 id = 2", 8, "and, or, order by, limit or the end"},
			{"id = 1 limit 0", 14, "from 1 on"},
			{"order by tags", 10, "no order"},
			{"order by id asc, name desc", 23, "the same order"},
			{"order by id, id", 14, "already"},
			{"id ? 1", 4, "'?', which means nothing"},
			{"id not = 1", 8, "in or starts with"},
			{"`id = 1", 1, "no closing `"},
			{strings.Repeat("(", 60) + "id = 1", 51, "deep"},
			{strings.Repeat(" ", 1<<15), 1, "bytes"},
		} {
			_, err := Parse(c.text, s.Fields(), noon())
			var e *Error
			if !errors.As(err, &e) || e.Column != c.column || !strings.Contains(e.Text, c.says) {
				t.Errorf("%.50s: %v, want column %d: %s", c.text, err, c.column, c.says)
			}
		}
	})
}

// FuzzParse parses any text: package record takes every query that it accepts.
func FuzzParse(f *testing.F) {
	for _, text := range tests {
		f.Add(text)
	}
	for _, text := range []string{"order by name, id desc limit 3", `tags has "\u00e4"`,
		"born > now-1d", "price > -inf",
		"`order of the day` = 'x'", `token = x"00"`, "id in (0xff, -1)", "size = +0x", "price = nan"} {
		f.Add(text)
	}
	things(f, func(_ *stoat.Tx, s *record.Stored) {
		f.Fuzz(func(t *testing.T, text string) {
			q, err := Parse(text, s.Fields(), noon())
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Column < 1 || e.Text == "") {
				t.Fatalf("%q: %v", text, err)
			}
			if err == nil && q.Of(s).Err() != nil {
				t.Fatalf("%q: %v", text, q.Of(s).Err())
			}
		})
	})
}
