package record_test

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// condition is a predicate and what it means.
type condition struct {
	record.Predicate
	holds func(*person) bool
}

// ordered returns a random condition on a field whose values have an order.
func ordered[V any](
	r *rand.Rand, name string, of func(*person) V, compare func(a, b V) int, arg func() V,
) condition {
	a, b := arg(), arg()
	is := func(ok func(order int) bool) func(*person) bool {
		return func(p *person) bool { return ok(compare(of(p), a)) }
	}
	switch r.IntN(9) {
	case 0:
		return condition{record.Ne(name, a), is(func(o int) bool { return o != 0 })}
	case 1:
		return condition{record.Lt(name, a), is(func(o int) bool { return o < 0 })}
	case 2:
		return condition{record.Le(name, a), is(func(o int) bool { return o <= 0 })}
	case 3:
		return condition{record.Gt(name, a), is(func(o int) bool { return o > 0 })}
	case 4:
		return condition{record.Ge(name, a), is(func(o int) bool { return o >= 0 })}
	case 5:
		return condition{record.Between(name, a, b), func(p *person) bool {
			return compare(of(p), a) >= 0 && compare(of(p), b) <= 0
		}}
	case 6:
		return condition{record.In(name, a, b), func(p *person) bool {
			return compare(of(p), a) == 0 || compare(of(p), b) == 0
		}}
	}
	return condition{record.Eq(name, a), is(func(o int) bool { return o == 0 })}
}

// randomCondition returns a random condition of at most the depth.
func randomCondition(r *rand.Rand, depth int) condition {
	text := func() string { return randomText(r, 2) }
	switch r.IntN(15) {
	case 0:
		return ordered(r, "id", func(p *person) int64 { return p.ID }, cmp.Compare[int64],
			func() int64 { return r.Int64N(40) - 20 })
	case 1, 2:
		return ordered(r, "age", func(p *person) int { return int(p.Age) }, cmp.Compare[int],
			func() int { return r.IntN(30) - 10 })
	case 3:
		return ordered(r, "score", func(p *person) float64 { return p.Score }, cmp.Compare[float64],
			func() float64 { return float64(r.IntN(11)-5) / 2 })
	case 4:
		return ordered(r, "born", func(p *person) time.Time { return p.Born }, time.Time.Compare,
			func() time.Time { return randomPerson(r, 0).Born })
	case 5:
		return ordered(r, "blob", func(p *person) []byte { return p.Blob }, bytes.Compare,
			func() []byte { return randomPerson(r, 0).Blob })
	case 6:
		return ordered(r, "token", func(p *person) [16]byte { return p.Token },
			func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) },
			func() [16]byte { return randomPerson(r, 0).Token })
	case 7:
		want := r.IntN(2) == 1
		return condition{record.Eq("active", want), func(p *person) bool { return p.Active == want }}
	case 8:
		level := int16(r.IntN(7) - 3)
		if r.IntN(3) == 0 {
			return condition{record.Eq("level", nil), func(p *person) bool { return p.Level == nil }}
		}
		return condition{record.Le("level", level),
			func(p *person) bool { return p.Level != nil && *p.Level <= level }}
	case 9:
		tag := randomText(r, 1)
		return condition{record.Has("tags", tag),
			func(p *person) bool { return slices.Contains(p.Tags, tag) }}
	case 10:
		code := uint16(r.IntN(5))
		return condition{record.Has("codes", code),
			func(p *person) bool { return slices.Contains(p.Codes, code) }}
	case 11:
		prefix := text()
		return condition{record.HasPrefix("home.city", prefix),
			func(p *person) bool { return strings.HasPrefix(p.Home.City, prefix) }}
	case 12, 13:
		if depth > 0 {
			return randomParts(r, depth-1)
		}
	}
	if r.IntN(2) == 0 {
		return ordered(r, "email", func(p *person) string { return p.Email }, strings.Compare,
			func() string { return randomPerson(r, r.Int64N(200)-100).Email })
	}
	return ordered(r, "home.city", func(p *person) string { return p.Home.City },
		strings.Compare, text)
}

// randomParts returns a random Or or And.
func randomParts(r *rand.Rand, depth int) condition {
	var predicates []record.Predicate
	var parts []condition
	for range r.IntN(3) {
		c := randomCondition(r, depth)
		predicates, parts = append(predicates, c.Predicate), append(parts, c)
	}
	holds := func(p *person) func(condition) bool {
		return func(c condition) bool { return c.holds(p) }
	}
	if r.IntN(2) == 0 {
		return condition{record.Or(predicates...),
			func(p *person) bool { return slices.ContainsFunc(parts, holds(p)) }}
	}
	return condition{record.And(predicates...), func(p *person) bool {
		return !slices.ContainsFunc(parts, func(c condition) bool { return !c.holds(p) })
	}}
}

// compareBy compares two persons by a field and then by key.
func compareBy(field string) func(a, b *person) int {
	return func(a, b *person) int {
		order := 0
		switch field {
		case "age":
			order = cmp.Compare(a.Age, b.Age)
		case "home.city":
			order = strings.Compare(a.Home.City, b.Home.City)
		case "score":
			order = cmp.Compare(a.Score, b.Score)
		case "note":
			order = strings.Compare(a.Note, b.Note)
		}
		return cmp.Or(order, cmp.Compare(a.ID, b.ID))
	}
}

func TestQuery_agreesWithALoop(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
		t.Run(codec.String(), func(t *testing.T) {
			db := openMemory(t)
			c := mustOpen(t, db, "people", personOptions(codec))
			r := newRand(t)
			var all []*person
			for i := range 200 {
				all = append(all, randomPerson(r, int64(i)-100))
			}
			put(t, db, c, all...)
			rounds := 1500
			if codec == record.CodecJSON {
				rounds = 50
			}
			view(t, db, func(tx *stoat.Tx) error {
				for range rounds {
					checkQuery(t, r, tx, c, all)
				}
				return nil
			})
		})
	}
}

// checkQuery compares a random query with a loop.
func checkQuery(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[person], all []*person,
) {
	t.Helper()
	q, want := c.Query(), slices.Clone(all)
	keep := func(holds func(*person) bool) {
		want = slices.DeleteFunc(want, func(p *person) bool { return !holds(p) })
	}
	for range r.IntN(4) {
		cond := randomCondition(r, 2)
		q = q.Where(cond.Predicate)
		keep(cond.holds)
	}
	if r.IntN(4) == 0 {
		even := func(p *person) bool { return p.ID%2 == 0 }
		q = q.Filter(even)
		keep(even)
	}
	matches := slices.Clone(want)
	limit, offset := 0, 0
	field := []string{"", "age", "home.city", "score", "note", "id"}[r.IntN(6)]
	if field != "" {
		q = q.OrderBy(field)
		slices.SortFunc(want, compareBy(field))
		limit, offset = r.IntN(2)*r.IntN(300), r.IntN(2)*r.IntN(20)
		if r.IntN(2) == 0 {
			q = q.Desc()
			slices.Reverse(want)
		}
		q = q.Limit(limit).Offset(offset)
		want = want[min(offset, len(want)):]
		if limit > 0 {
			want = want[:min(limit, len(want))]
		}
	}
	plan := q.Explain(tx)
	got := collect(t, q.All(tx))
	if field == "" {
		slices.SortFunc(got, compareBy("id"))
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d: %s", len(got), len(want), plan)
	}
	for i := range got {
		if got[i].ID != want[i].ID {
			t.Fatalf("record %d is %d, want %d: %s", i, got[i].ID, want[i].ID, plan)
		}
	}
	checkForms(t, tx, q, got, field != "", plan)
	if limit+offset == 0 {
		checkNumbers(t, tx, q, matches, plan)
	}
}

// checkForms compares the other forms of a result with its records.
func checkForms(
	t *testing.T, tx *stoat.Tx, q record.Query[person], got []*person, inOrder bool, plan string,
) {
	t.Helper()
	n, err := q.Count(tx)
	if err != nil || n != uint64(len(got)) {
		t.Fatalf("count %d, %v, want %d: %s", n, err, len(got), plan)
	}
	keys := collect(t, q.Keys(tx))
	rows := collect(t, q.Fields("age", "note").Rows(tx))
	if len(keys) != len(got) || len(rows) != len(got) {
		t.Fatalf("%d keys and %d rows of %d records: %s", len(keys), len(rows), len(got), plan)
	}
	for i := range rows {
		if !inOrder {
			break
		}
		wantEqual(t, "key: "+plan, keys[i], tuple.Tuple{got[i].ID})
		age, err := rows[i].Int("age")
		if err != nil || age != int64(got[i].Age) {
			t.Fatalf("age %d, %v, want %d: %s", age, err, got[i].Age, plan)
		}
		note, err := rows[i].String("note")
		if err != nil || note != got[i].Note {
			t.Fatalf("note %q, %v, want %q: %s", note, err, got[i].Note, plan)
		}
	}
}

// checkNumbers compares aggregates with those of the records.
func checkNumbers(
	t *testing.T, tx *stoat.Tx, q record.Query[person], all []*person, plan string,
) {
	t.Helper()
	sum, least, greatest := int64(0), int64(1000), int64(-1000)
	for _, p := range all {
		sum += int64(p.Age)
		least, greatest = min(least, int64(p.Age)), max(greatest, int64(p.Age))
	}
	got, err := q.SumInt(tx, "age")
	if err != nil || got != sum {
		t.Fatalf("sum %d, %v, want %d: %s", got, err, sum, plan)
	}
	avg, err := q.Avg(tx, "age")
	low, lowErr := q.Min(tx, "age")
	high, highErr := q.Max(tx, "age")
	if len(all) == 0 {
		for _, err := range []error{err, lowErr, highErr} {
			if !errors.Is(err, stoat.ErrNotFound) {
				t.Fatalf("aggregate of nothing: %v: %s", err, plan)
			}
		}
		return
	}
	if err := errors.Join(err, lowErr, highErr); err != nil {
		t.Fatal(err)
	}
	if avg != float64(sum)/float64(len(all)) || low != least || high != greatest {
		t.Fatalf("average %v, min %v, max %v: %s", avg, low, high, plan)
	}
}

func TestQuery_saysWhatIsWrong(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	view(t, db, func(tx *stoat.Tx) error {
		for _, test := range []struct {
			q     record.Query[person]
			parts []string
		}{
			{c.Query().Where(record.Eq("emial", "x")), []string{`"emial"`, "email"}},
			{c.Query().Where(record.Gt("age", "x")), []string{"field age", "int32", `"x"`}},
			{c.Query().Where(record.Eq("tags", "x")), []string{"field tags", "Has"}},
			{c.Query().Where(record.Has("age", 1)), []string{"field age", "Eq"}},
			{c.Query().Where(record.Eq("Extra", 1)), []string{"field Extra", "Filter"}},
			{c.Query().OrderBy("tags"), []string{"field tags", "order"}},
			{c.Query().Fields("x"), []string{`"x"`}},
			{c.Query().Limit(-1), []string{"limit"}},
			{c.Query().Where(record.Predicate{}), []string{"empty predicate"}},
		} {
			wantError(t, test.q.Err(), append(test.parts, `collection "people"`)...)
			_, err := test.q.First(tx)
			wantError(t, err, test.parts...)
		}
		_, err := c.Query().Sum(tx, "email")
		wantError(t, err, "field email", "not a number")
		return nil
	})
}

func TestExplain_namesTheWay(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	view(t, db, func(tx *stoat.Tx) error {
		for _, test := range []struct {
			q    record.Query[person]
			want string
		}{
			{c.Query(), "Of 0 records of people, it scans all."},
			{c.Query().Where(record.Eq("email", "x"), record.Gt("age", 3)),
				`Of 0 records of people, it gets 1 by the unique index email ` +
					`(email = "x"). Of each it checks age > 3.`},
			{c.Query().Where(record.In("id", 1, 2)),
				"Of 0 records of people, it gets 2 by key (id in [1 2])."},
			{c.Query().Where(record.Eq("home.city", "Ulm")).OrderBy("age").Desc().Limit(3),
				`Of 0 records of people, it takes those in a range of the index ` +
					`cityAge (home.city = "Ulm"). They come sorted by age, descending. ` +
					`It stops after the first 3.`},
			{c.Query().Where(record.Ge("id", 9)).OrderBy("note").Limit(3),
				`Of 0 records of people, it scans those in a range of keys (id ≥ 9). ` +
					`It keeps the first 3 by note in memory.`},
			{c.Query().OrderBy("age"), "Of 0 records of people, it takes all in the " +
				"order of the index age. They come sorted by age."},
		} {
			if got := test.q.Explain(tx); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		}
		return nil
	})
}
