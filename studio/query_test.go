package studio

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// animal is a record of many types.
type animal struct {
	ID    int64             `stoat:"id,key,auto"`
	Name  string            `stoat:"name,unique"`
	Age   int32             `stoat:"age,index"`
	Big   uint64            `stoat:"big"`
	Mass  float64           `stoat:"mass"`
	Born  time.Time         `stoat:"born"`
	Chip  [16]byte          `stoat:"chip"`
	Photo []byte            `stoat:"photo"`
	Tags  []string          `stoat:"tags,index"`
	Rank  *int16            `stoat:"rank"`
	Notes map[string]string `stoat:"notes"`
	Meals []meal            `stoat:"meals"`
	Story string            `stoat:"story"`
}

// meal is a struct in a list.
type meal struct {
	What string
	Gram float32
}

// animals stores n animals in a collection.
func animals(t testing.TB, db *stoat.DB, n int) {
	t.Helper()
	c, err := record.Open[animal](db, "animals", nil)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) error {
		for i := range n {
			a := &animal{Name: fmt.Sprintf("animal %03d", i), Age: int32(i % 7), Tags: []string{"t"}}
			if i%3 == 0 {
				a.Tags = nil
			}
			if err := c.Insert(tx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowsOf returns the cells of a column, page by page.
func rowsOf(b *browser, column int, parameters ...string) (cells []string) {
	b.t.Helper()
	after := ""
	for {
		page := get[queryAnswer](b, "query", append(slices.Clip(parameters), "after", after)...)
		for _, row := range page.Rows {
			cells = append(cells, string(row[column]))
		}
		if after = page.Next; after == "" {
			return cells
		}
	}
}

func TestQuery_readsTheResultPageByPage(t *testing.T) {
	db := memory(t)
	animals(t, db, 120)
	b := browse(t, New(db, nil))
	for q, want := range map[string]func(i int) bool{
		"":                                  func(int) bool { return true },
		"order by key desc":                 func(int) bool { return true },
		"age >= 5":                          func(i int) bool { return i%7 >= 5 },
		"age = 3 order by id":               func(i int) bool { return i%7 == 3 },
		"not age in (1, 2, 3) order by age": func(i int) bool { return i%7 == 0 || i%7 > 3 },
		`tags has "t" and age < 2`:          func(i int) bool { return i%3 > 0 && i%7 < 2 },
		"age > 2 order by mass desc":        func(i int) bool { return i%7 > 2 },
		"order by name limit 50":            func(i int) bool { return i < 50 },
		"order by mass limit 50":            func(i int) bool { return i < 50 },
		"id < 0":                            func(int) bool { return false },
	} {
		var ids []string
		for i := range 120 {
			if want(i) {
				ids = append(ids, fmt.Sprint(i+1))
			}
		}
		slices.Sort(ids)
		for _, limit := range []string{"1", "7", "50", "500"} {
			got := rowsOf(b, 0, "name", "animals", "q", q, "limit", limit)
			slices.Sort(got)
			if !slices.Equal(got, ids) {
				t.Errorf("%s by %s: %v, want %v", q, limit, got, ids)
			}
		}
	}
	a := get[queryAnswer](b, "query", "name", "animals", "q", "age >= 5", "limit", "3")
	if !strings.Contains(a.Plan, "range of the index age") || len(a.Rows) != 3 || a.Next == "" {
		t.Errorf("the plan is %s; %d rows, next %q", a.Plan, len(a.Rows), a.Next)
	}
	descending := rowsOf(b, 2, "name", "animals", "q", "order by age desc", "limit", "9")
	if !slices.IsSortedFunc(descending, func(x, y string) int { return strings.Compare(y, x) }) {
		t.Errorf("by age, descending: %v", descending)
	}
}

func TestQuery_showsValuesSafely(t *testing.T) {
	db := memory(t)
	c, err := record.Open[animal](db, "animals", nil)
	ok(t, err)
	rank := int16(-3)
	long := strings.Repeat("<b>ä", 2<<20)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, c.Insert(tx, &animal{Name: hostile[4] + "\x00\u202e", Big: math.MaxUint64,
			Mass: math.Inf(-1), Born: time.Date(12026, 1, 31, 0, 0, 0, 5, time.UTC), Chip: [16]byte{0xab},
			Photo: []byte{0xff}, Tags: []string{"\xff", "<i>"}, Rank: &rank,
			Notes: map[string]string{"<u>": "n"}, Meals: []meal{{"soup", 0.5}}}))
		return c.Insert(tx, &animal{Story: long, Photo: []byte(long), Tags: []string{"x"}})
	})
	b := browse(t, New(db, nil))
	status, body := b.ask("query", "name", "animals", "q", "order by key")
	if status != http.StatusOK || len(body) > 20_000 {
		t.Fatalf("status %d, %d bytes: %.500s", status, len(body), body)
	}
	var a queryAnswer
	ok(t, json.Unmarshal([]byte(body), &a))
	equal(t, strings.Join(a.Columns, " "),
		"id name age big mass born chip photo tags rank notes meals story")
	for i, want := range []string{"1", `"\u003c/script\u003e\u003cscript\u003ealert(1)` +
		`\u003c/script\u003e\u0000` + "\u202e\"", "0", `"18446744073709551615"`, `"-Inf"`,
		`"12026-01-31T00:00:00.000000005Z"`, `"ab000000-0000-0000-0000-000000000000"`,
		`{"base64":"/w==","size":1}`, `[{"base64":"/w==","size":1},"\u003ci\u003e"]`, "-3",
		`{"\u003cu\u003e":"n"}`, `[{"Gram":0.5,"What":"soup"}]`} {
		equal(t, string(a.Rows[0][i]), want)
	}
	for _, i := range []int{7, 12} {
		var cell blob
		ok(t, json.Unmarshal(a.Rows[1][i], &cell))
		if !cell.Cut || cell.Size != len(long) || len(cell.Base64) > cellShown {
			t.Errorf("%s shows %d of %d bytes", a.Columns[i], len(cell.Base64), cell.Size)
		}
	}
	equal(t, string(a.Rows[1][8]),
		fmt.Sprintf(`{"base64":"","text":"","size":%d,"cut":true}`, sizeOf(t, db)))
}

// sizeOf returns the size of the second animal.
func sizeOf(t testing.TB, db *stoat.DB) (size int) {
	t.Helper()
	ok(t, db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("animals"))
		ok(t, err)
		key, err := tuple.Encode(2)
		ok(t, err)
		n, err := b.Size(key)
		size = int(n)
		return err
	}))
	return size
}

func TestQuery_saysWhatIsWrong(t *testing.T) {
	db := memory(t)
	animals(t, db, 3)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("plain"))
		return err
	})
	b := browse(t, New(db, nil))
	for _, c := range []struct {
		name, q, after string
		status         int
		says           string
	}{
		{"animals", `age > 3 and height = 2`, "", 400, "column 13: there is no field height"},
		{"animals", `age = "old"`, "", 400, "column 7: age has type int32"},
		{"animals", "order by tags", "", 400, "column 10"},
		{"animals", "", "%", 400, "after"},
		{"animals", "", formatBytes([]byte{0xff}), 400, "after"},
		{"animals", "", formatBytes([]byte{0, 0, 99}), 400, "mark"},
		{"plain", "", "", 400, "not a collection"},
		{"none", "", "", 404, "bucket"},
	} {
		status, text := b.ask("query", "name", c.name, "q", c.q, "after", c.after)
		refused(t, status, text, c.status, c.says)
	}
	_, text := b.ask("query", "name", "animals", "q", "age > > 3")
	if !strings.Contains(text, `"column":7`) {
		t.Error(text)
	}
	status, text := b.ask("collection", "name", "plain")
	refused(t, status, text, 400, "not a collection")
	status, text = b.ask("collection", "name", "none")
	refused(t, status, text, 404)
}

func TestQuery_listsRecordsInJSON(t *testing.T) {
	db := memory(t)
	c, err := record.Open(db, "animals", &record.Options[animal]{Codec: record.CodecJSON})
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) error {
		for i := range 5 {
			ok(t, c.Insert(tx, &animal{Name: fmt.Sprint(i), Big: math.MaxUint64}))
		}
		return c.Insert(tx, &animal{Name: strings.Repeat("long", 1000)})
	})
	b := browse(t, New(db, nil))
	keys := rowsOf(b, 0, "name", "animals", "q", "order by key desc", "limit", "4")
	equal(t, strings.Join(keys, " "), "6 5 4 3 2 1")
	records := rowsOf(b, 1, "name", "animals", "q", "limit 2")
	var shown blob
	ok(t, json.Unmarshal([]byte(records[0]), &shown))
	equal(t, shown.JSON, true)
	if text := *shown.Text; !strings.Contains(text, `"Name":"0"`) ||
		!strings.Contains(text, `"Big":18446744073709551615`) { // more than JavaScript has
		t.Error(text)
	}
	equal(t, len(records), 2)
	status, text := b.ask("query", "name", "animals", "q", "age = 1")
	refused(t, status, text, 400, "column 1", "without the Go type")
	d := get[collectionAnswer](b, "collection", "name", "animals")
	if d.Queryable || !strings.Contains(d.Why, "json") || d.Count != 6 || d.Key[0] != "id" {
		t.Errorf("%+v", d)
	}
}

func TestRecordCell_isJSONOnlyAsAWhole(t *testing.T) {
	for text, want := range map[string]bool{
		`{"n":1e400}`: true, "null": true, "": false, "{": false, "\"\xff\"": false,
		`"` + strings.Repeat("x", cellShown) + `"`: false,
	} {
		if b := recordCell([]byte(text)); b.JSON != want {
			t.Errorf("%.20q: %v", text, b.JSON)
		}
	}
}

func TestCollection_describesKeyFieldsAndIndexes(t *testing.T) {
	db := memory(t)
	animals(t, db, 12)
	d := get[collectionAnswer](browse(t, New(db, nil)), "collection", "name", "animals")
	if d.Codec != "binary" || d.Count != 12 || !d.Queryable || d.Why != "" {
		t.Errorf("%+v", d)
	}
	equal(t, fmt.Sprint(d.Key), "[id]")
	equal(t, fmt.Sprint(d.Fields), "[{id int64} {name string} {age int32} {big uint64} "+
		"{mass float64} {born time} {chip uuid} {photo bytes} {tags list of string} "+
		"{rank optional int16} {notes map[string]string} "+
		"{meals list of struct{What string, Gram float32}} {story string}]")
	equal(t, fmt.Sprint(d.Indexes), "[{age [age] false} {name [name] true} {tags [tags] false}]")
}

func TestQuery_givesUpWhenItFindsNothing(t *testing.T) {
	db := memory(t)
	animals(t, db, 100)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	ok(t, db.View(func(tx *stoat.Tx) error {
		s, err := record.OpenStored(tx, "animals")
		ok(t, err)
		for _, q := range []record.Query[record.Row]{s.Query().Where(record.Lt("mass", -1)).AnyOrder(),
			s.Query().OrderBy("mass")} {
			err = new(queryAnswer).run(ctx, tx, s, q, pageStart{}, 10)
			if statusOf(err) != http.StatusServiceUnavailable ||
				!strings.Contains(err.Error(), "scans all") {
				t.Errorf("%v", err)
			}
		}
		return nil
	}))
}
