package record_test

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// people is the model of a collection of persons.
type people map[int64]*person

// holds reports whether p would have what is another's in a unique index.
func (m people) holds(p *person) bool {
	for id, other := range m {
		if id != p.ID && (other.Email == p.Email || other.Home == p.Home) {
			return true
		}
	}
	return false
}

// sorted returns all persons by key.
func (m people) sorted() []*person {
	return slices.SortedFunc(maps.Values(m), func(a, b *person) int { return cmp.Compare(a.ID, b.ID) })
}

// errRollback makes an Update roll back.
var errRollback = errors.New("roll back")

func TestCollection_agreesWithAModel(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob} {
		t.Run(codec.String(), func(t *testing.T) {
			db := openMemory(t)
			c := mustOpen(t, db, "people", personOptions(codec))
			r := newRand(t)
			model := people{}
			for range 60 {
				next := maps.Clone(model)
				rollback := r.IntN(4) == 0
				err := db.Update(func(tx *stoat.Tx) error {
					for range r.IntN(12) {
						step(t, r, tx, c, next)
					}
					if r.IntN(3) == 0 {
						compare(t, tx, c, next)
					}
					if rollback {
						return errRollback
					}
					return nil
				})
				switch {
				case rollback && !errors.Is(err, errRollback), !rollback && err != nil:
					t.Fatal(err)
				case !rollback:
					model = next
				}
				view(t, db, func(tx *stoat.Tx) error {
					compare(t, tx, c, model)
					return nil
				})
			}
		})
	}
}

// step makes one random change of the collection and the model.
func step(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[person], m people,
) {
	t.Helper()
	id := r.Int64N(30) - 10
	p := randomPerson(r, id)
	if r.IntN(8) == 0 { // perhaps a duplicate
		p.Home.Zip, p.Email = r.Uint32N(30), m.anyEmail(r)
	}
	_, there := m[id]
	want := error(nil)
	if m.holds(p) {
		want = record.ErrDuplicate
	}
	var err error
	switch n := r.IntN(100); {
	case n < 45:
		err = c.Put(tx, p)
	case n < 60:
		if there {
			want = record.ErrExists
		}
		err = c.Insert(tx, p)
	case n < 75:
		if !there {
			want = stoat.ErrNotFound
		}
		err = c.Update(tx, id, func(old *person) error { *old = *p; return nil })
	case n < 80:
		if want != nil || !there {
			return
		}
		q := *m[id]
		q.Age, q.Note = p.Age, p.Note
		p = &q
		if err = record.SetField(tx, c, id, "age", p.Age); err == nil {
			err = record.SetField(tx, c, id, "note", p.Note)
		}
	case n < 99:
		if err := c.Delete(tx, id); err != nil {
			t.Fatal(err)
		}
		delete(m, id)
		return
	default:
		if err := c.Clear(tx); err != nil {
			t.Fatal(err)
		}
		clear(m)
		return
	}
	if !errors.Is(err, want) {
		t.Fatalf("change of %d: %v, want %v", id, err, want)
	}
	if want == nil {
		m[id] = p
	}
}

// anyEmail returns the address of a person, if there is one.
func (m people) anyEmail(r *rand.Rand) string {
	all := m.sorted()
	if len(all) == 0 {
		return "nobody"
	}
	return all[r.IntN(len(all))].Email
}

// compare checks that the collection has what the model has, in all orders.
func compare(t *testing.T, tx *stoat.Tx, c *record.Collection[person], m people) {
	t.Helper()
	if err := c.Verify(tx); err != nil {
		t.Fatal(err)
	}
	all := m.sorted()
	wantEqual(t, "all", collect(t, c.All(tx)), all)
	n, err := c.Count(tx)
	if err != nil || n != uint64(len(all)) {
		t.Fatalf("count %d, %v, want %d", n, err, len(all))
	}
	var keys []tuple.Tuple
	for _, p := range all {
		keys = append(keys, tuple.Tuple{p.ID})
		got, err := c.By("email").Get(tx, p.Email)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "by email", got, p)
		city, err := record.Field[string](tx, c, p.ID, "home.city")
		if err != nil || city != p.Home.City {
			t.Fatalf("city %q, %v, want %q", city, err, p.Home.City)
		}
	}
	wantEqual(t, "keys", collect(t, c.Keys(tx)), keys)
	slices.SortStableFunc(all, func(a, b *person) int {
		return cmp.Or(strings.Compare(a.Home.City, b.Home.City), cmp.Compare(a.Age, b.Age))
	})
	wantEqual(t, "by city and age", collect(t, c.By("cityAge").All(tx)), all)
}
