package record_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func TestQuery_deletesAndUpdatesWhatItYields(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		r := newRand(t)
		db := openMemory(t)
		c := mustOpen(t, db, "people", personOptions(codec))
		next := int64(0)
		for round := range 120 {
			update(t, db, func(tx *stoat.Tx) error {
				for range 10 {
					if next++; next%20 < 12 {
						if err := c.Put(tx, randomPerson(r, next)); err != nil && !errors.Is(err,
							record.ErrDuplicate) {
							return err
						}
					}
				}
				q := c.Query()
				for range r.IntN(3) {
					q = q.Where(randomCondition(r, 2).Predicate)
				}
				if r.IntN(2) == 0 {
					q = q.OrderBy(pick(r, "age", "id", "note", "home.city")).Limit(r.IntN(6))
					q = q.Offset(r.IntN(3))
				}
				checkModify(t, r, tx, c, q, round)
				return c.Verify(tx)
			})
		}
	}
}

// checkModify deletes or updates the result of a query, and wants nothing else to change.
func checkModify(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[person], q record.Query[person],
	round int,
) {
	t.Helper()
	want := map[int64]string{}
	for _, p := range collect(t, c.All(tx)) {
		want[p.ID] = p.Note
	}
	chosen := collect(t, q.All(tx))
	var n uint64
	var err error
	if round%3 == 0 {
		for _, p := range chosen {
			delete(want, p.ID)
		}
		n, err = q.Delete(tx)
	} else {
		for _, p := range chosen {
			want[p.ID] += "!"
		}
		n, err = q.Update(tx, func(p *person) error {
			p.Note += "!"
			p.Age, p.Tags = p.Age+int32(r.IntN(7))-3, append(p.Tags, "a")
			p.Home.City += "a" // which moves it behind others in the indexes
			return nil
		})
	}
	if int(n) != len(chosen) || err != nil {
		t.Fatalf("%d records of %d, %v: %s", n, len(chosen), err, q.Explain(tx))
	}
	got := map[int64]string{}
	for _, p := range collect(t, c.All(tx)) {
		got[p.ID] = p.Note
	}
	wantEqual(t, q.Explain(tx), got, want)
}

func TestQuery_deletesAllAtOnceAndTellsWatchers(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[person](t, db, "people", nil)
	r := newRand(t)
	for i := range 5 {
		put(t, db, c, randomPerson(r, int64(i)))
	}
	removed, changed := 0, 0
	step := 0
	for changes, err := range c.Watch(context.Background(), db, c.Query()) {
		ok(t, err)
		removed, changed = removed+len(changes.Removed), changed+len(changes.Changed)
		step++
		switch step {
		case 1:
			update(t, db, func(tx *stoat.Tx) error {
				_, err := c.Query().Where(record.Lt("id", 2)).Delete(tx)
				return err
			})
		case 2:
			update(t, db, func(tx *stoat.Tx) error {
				_, err := c.Query().Update(tx, func(p *person) error { p.Note = "new"; return nil })
				return err
			})
		case 3:
			update(t, db, func(tx *stoat.Tx) error {
				n, err := c.Query().Delete(tx)
				if n != 3 {
					t.Errorf("%d records are deleted, want 3", n)
				}
				return err
			})
		}
		if step == 4 {
			break
		}
	}
	if removed != 5 || changed != 3 {
		t.Errorf("%d removed and %d changed", removed, changed)
	}
	view(t, db, func(tx *stoat.Tx) error { return c.Verify(tx) })
}

func TestQuery_endsAnUpdateWithItsError(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[person](t, db, "people", nil)
	put(t, db, c, &person{ID: 1}, &person{ID: 2, Email: "x"})
	failed := errors.New("failed")
	for _, fn := range []func(p *person) error{
		func(*person) error { return failed },
		func(p *person) error { p.ID += 10; return nil },
		func(p *person) error { p.Email = "same"; return nil },
	} {
		err := db.Update(func(tx *stoat.Tx) error {
			_, err := c.Query().Update(tx, fn)
			return err
		})
		wantError(t, err, `"people"`, "key ")
	}
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := c.Query().Delete(tx); !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("delete in a View: %v", err)
		}
		return c.Verify(tx)
	})
}

func TestGroupBy_agreesWithALoop(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		r := newRand(t)
		db := openMemory(t)
		c := mustOpen(t, db, "people", personOptions(codec))
		var all []*person
		for i := range 200 {
			all = append(all, randomPerson(r, int64(i)))
		}
		put(t, db, c, all...)
		view(t, db, func(tx *stoat.Tx) error {
			for range 50 {
				cond := randomCondition(r, 2)
				fields := [][]string{{"home.city"}, {"home.city", "age"}, {"active"}, {"age", "note"},
					{"level"}}[r.IntN(5)]
				checkGroups(t, tx, c.Query().Where(cond.Predicate), fields,
					slices.DeleteFunc(slices.Clone(all), func(p *person) bool { return !cond.holds(p) }))
			}
			for range c.Query().GroupBy("home.city").All(tx) {
				break
			}
			return nil
		})
	}
}

// checkGroups compares the groups of a query with those of the records that it means.
func checkGroups(
	t *testing.T, tx *stoat.Tx, q record.Query[person], fields []string, all []*person,
) {
	t.Helper()
	of := func(p *person) string {
		var text []string
		for _, f := range fields {
			v := any(p.Note)
			switch f {
			case "home.city":
				v = p.Home.City
			case "age":
				v = int64(p.Age)
			case "active":
				v = p.Active
			case "level":
				if v = nil; p.Level != nil {
					v = int64(*p.Level)
				}
			}
			text = append(text, fmt.Sprintf("%#v", v))
		}
		return strings.Join(text, " ")
	}
	want := map[string][]*person{}
	for _, p := range all {
		want[of(p)] = append(want[of(p)], p)
	}
	groups, distinct := 0, len(collect(t, q.Distinct(tx, fields...)))
	for g, err := range q.GroupBy(fields...).Of("score", "age").All(tx) {
		ok(t, err)
		var text []string
		for _, v := range g.Values {
			text = append(text, fmt.Sprintf("%#v", v))
		}
		members := want[strings.Join(text, " ")]
		sum := 0.0
		for _, p := range members {
			sum += p.Score
		}
		byAge := func(a, b *person) int { return cmp.Compare(a.Age, b.Age) }
		if len(members) == 0 || int(g.Count) != len(members) || g.Sum("score") != sum ||
			g.Avg("score") != sum/float64(len(members)) ||
			g.Min("age") != float64(slices.MinFunc(members, byAge).Age) ||
			g.Max("age") != float64(slices.MaxFunc(members, byAge).Age) {
			t.Fatalf("group %v by %v is %+v, want %d with the sum %v", g.Values, fields, g,
				len(members), sum)
		}
		groups++
	}
	if groups != len(want) || distinct != groups {
		t.Fatalf("%d groups and %d distinct values, want %d", groups, distinct, len(want))
	}
}

func TestGroupBy_saysWhatIsWrong(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[person](t, db, "people", nil)
	view(t, db, func(tx *stoat.Tx) error {
		for _, g := range []record.Grouping[person]{
			c.Query().GroupBy(), c.Query().GroupBy("tags"), c.Query().GroupBy("none"),
			c.Query().Limit(1).GroupBy("age"), c.Query().GroupBy("age").Of("note"),
		} {
			for _, err := range g.All(tx) {
				wantError(t, err, `"people"`)
			}
		}
		return nil
	})
}

func TestInsertAll_doesWhatInsertDoes(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		r := newRand(t)
		db := openMemory(t)
		c := mustOpen(t, db, "people", personOptions(codec))
		var all []*person
		for i := range 9000 {
			all = append(all, randomPerson(r, int64(i)*3%9000+int64(i)*3/9000))
		}
		for i, p := range all {
			p.Home.Zip = uint32(i) + 1
		}
		update(t, db, func(tx *stoat.Tx) error {
			ok(t, c.Put(tx, &person{ID: -5, Email: "first"}))
			n, err := c.InsertAll(tx, slices.Values(all))
			if n != 9000 || err != nil {
				t.Fatalf("%d records, %v", n, err)
			}
			return c.Verify(tx)
		})
		view(t, db, func(tx *stoat.Tx) error {
			got, err := c.Get(tx, all[77].ID)
			wantEqual(t, "record", got, all[77])
			return errors.Join(err, c.Verify(tx))
		})
		for what, p := range map[string]*person{
			"key":   {ID: 5, Email: "new", Home: home{Zip: 50_000}},
			"email": {ID: 10_000, Email: "first", Home: home{Zip: 60_000}},
		} {
			err := db.Update(func(tx *stoat.Tx) error {
				_, err := c.InsertAll(tx, slices.Values([]*person{
					{ID: 20_000, Email: "y", Home: home{Zip: 70_000}}, p}))
				return err
			})
			if !errors.Is(err, record.ErrExists) && !errors.Is(err, record.ErrDuplicate) {
				t.Errorf("the same %s: %v", what, err)
			}
		}
	}
}

func TestInsertAll_givesKeys(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[member](t, db, "members", nil)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := c.InsertAll(tx, slices.Values([]*member{{Title: "a"}, {ID: 7, Title: "b"},
			{Title: "c"}}))
		return err
	})
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.By("title").Get(tx, "c")
		if err == nil && got.ID != 8 {
			t.Errorf("the key is %d, want 8", got.ID)
		}
		return errors.Join(err, c.Verify(tx))
	})
}

func TestOrderBy_keepsFewRecordsInMemory(t *testing.T) {
	type page struct {
		ID   int64  `stoat:"id,key"`
		Rank int64  `stoat:"rank"`
		Text []byte `stoat:"text"`
	}
	db := openMemory(t)
	c := mustOpen[page](t, db, "pages", nil)
	const pages = 400 // of 64 KiB, which is more than a sort keeps
	update(t, db, func(tx *stoat.Tx) error {
		for i := range pages {
			text := make([]byte, 64<<10)
			text[0] = byte(i)
			ok(t, c.Put(tx, &page{int64(i), int64(i * 7 % pages), text}))
		}
		return nil
	})
	view(t, db, func(tx *stoat.Tx) error {
		for _, q := range []record.Query[page]{c.Query().OrderBy("rank"),
			c.Query().OrderBy("rank").Limit(300)} {
			rank := int64(0)
			for p, err := range q.All(tx) {
				ok(t, err)
				if p.Rank != rank || p.Text[0] != byte(p.ID) {
					t.Fatalf("record %d has the rank %d, want %d", p.ID, p.Rank, rank)
				}
				rank++
			}
			if rank != pages && rank != 300 {
				t.Errorf("%d records", rank)
			}
		}
		return nil
	})
}
