package record_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// visits is the model of a collection of visits: those that have not expired.
type visits map[int64]visit

// forget removes what has expired.
func (m visits) forget(now time.Time) {
	maps.DeleteFunc(m, func(_ int64, v visit) bool {
		return v.Until.After(time.Time{}) && !v.Until.After(now)
	})
}

// taken reports whether another visit has the name.
func (m visits) taken(v visit) bool {
	for id, other := range m {
		if id != v.ID && other.Name == v.Name {
			return true
		}
	}
	return false
}

// random returns a visit that expires around now, or never.
func (m visits) random(r *rand.Rand, now time.Time) visit {
	v := visit{ID: r.Int64N(40), Name: fmt.Sprint("n", r.IntN(60)), Level: r.Int32N(5) - 1,
		Score: float64(r.IntN(8))}
	if r.IntN(3) > 0 {
		v.Until = now.Add(time.Duration(r.IntN(20)-4) * time.Second).UTC()
	}
	return v
}

func TestExpires_agreesWithAModelAtEveryMoment(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob} {
		t.Run(codec.String(), func(t *testing.T) {
			r := newRand(t)
			db, clock := openAt(t)
			c := mustOpen(t, db, "visits", &record.Options[visit]{Codec: codec})
			model := visits{}
			for range 150 {
				next := maps.Clone(model)
				rollback := r.IntN(5) == 0
				err := db.Update(func(tx *stoat.Tx) error {
					now := tx.Now()
					next.forget(now)
					for range r.IntN(10) {
						clock.advance(time.Duration(r.IntN(100)) * time.Millisecond) // unseen
						stepVisit(t, r, tx, c, next)
						next.forget(now)
					}
					compareVisits(t, tx, c, next)
					if rollback {
						return errRollback
					}
					return nil
				})
				if rollback != errors.Is(err, errRollback) || !rollback && err != nil {
					t.Fatal(err)
				}
				if !rollback {
					model = next
				}
				clock.advance(time.Duration(r.IntN(4)) * time.Second)
				view(t, db, func(tx *stoat.Tx) error {
					model.forget(tx.Now())
					compareVisits(t, tx, c, model)
					return nil
				})
			}
		})
	}
}

// stepVisit makes one random change of the collection and the model.
func stepVisit(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[visit], m visits,
) {
	t.Helper()
	v := m.random(r, tx.Now())
	_, there := m[v.ID]
	var want, err error
	if m.taken(v) {
		want = record.ErrDuplicate
	}
	switch n := r.IntN(10); {
	case n < 4:
		err = c.Put(tx, &v)
	case n < 6:
		if there {
			want = record.ErrExists
		}
		err = c.Insert(tx, &v)
	case n < 8:
		if !there {
			want = stoat.ErrNotFound
		}
		err = c.Update(tx, v.ID, func(old *visit) error { *old = v; return nil })
	default:
		changeVisits(t, r, tx, c, m)
		return
	}
	if !errors.Is(err, want) {
		t.Fatalf("change of %d: %v, want %v", v.ID, err, want)
	}
	if want == nil {
		m[v.ID] = v
	}
}

// changeVisits makes a change of another kind.
func changeVisits(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[visit], m visits,
) {
	t.Helper()
	v := m.random(r, tx.Now())
	level := record.Eq("level", v.Level)
	n, want := uint64(0), uint64(0)
	var err error
	switch r.IntN(5) {
	case 0:
		_, err = c.Sweep(tx)
	case 1:
		ok(t, c.Delete(tx, v.ID))
		delete(m, v.ID)
	case 2:
		n, err = c.Query().Where(level).Delete(tx)
		want = uint64(len(m))
		maps.DeleteFunc(m, func(_ int64, old visit) bool { return old.Level == v.Level })
		want -= uint64(len(m))
	case 3:
		n, err = c.Query().Where(level).Update(tx, func(old *visit) error {
			old.Until = v.Until
			return nil
		})
		for id, old := range m {
			if old.Level == v.Level {
				old.Until = v.Until
				m[id] = old
				want++
			}
		}
	default:
		var batch []*visit
		for v.ID = range int64(100) {
			v.Name = fmt.Sprint("n", v.ID) // what has these may have expired
			if _, there := m[v.ID]; !there && !m.taken(v) {
				one := v
				batch, m[v.ID] = append(batch, &one), v
			}
		}
		n, err = c.InsertAll(tx, slices.Values(batch))
		want = uint64(len(batch))
	}
	if err != nil || n != want {
		t.Fatalf("%d changed, %v, want %d", n, err, want)
	}
}

// compareVisits checks that the collection has what the model has, however it is asked.
func compareVisits(t *testing.T, tx *stoat.Tx, c *record.Collection[visit], m visits) {
	t.Helper()
	ok(t, c.Verify(tx))
	var all []visit
	var keys []tuple.Tuple
	var levels []int64
	sum, high := int64(0), 0
	for _, id := range slices.Sorted(maps.Keys(m)) {
		v := m[id]
		all, keys = append(all, v), append(keys, tuple.Tuple{id})
		levels = append(levels, int64(v.Level))
		if sum += int64(v.Level); v.Level >= 2 {
			high++
		}
		got, err := c.By("name").Get(tx, v.Name)
		ok(t, err)
		wantEqual(t, "by name", *got, v)
	}
	wantEqual(t, "all", values(collect(t, c.All(tx))), all)
	wantEqual(t, "query", values(collect(t, c.Query().OrderBy("id").All(tx))), all)
	wantEqual(t, "keys", collect(t, c.Keys(tx)), keys)
	n, err := c.Count(tx)
	ok(t, err)
	wantEqual(t, "count", n, uint64(len(all)))
	n, err = c.Query().Where(record.Ge("level", 2)).Count(tx)
	ok(t, err)
	wantEqual(t, "count of a condition", n, uint64(high))
	got, err := c.Query().SumInt(tx, "level")
	ok(t, err)
	wantEqual(t, "sum", got, sum)
	wantEqual(t, "by until", len(collect(t, c.By("until").All(tx))), len(all))
	least, err := c.Query().Min(tx, "level")
	if len(all) > 0 {
		ok(t, err)
		wantEqual(t, "least", least, record.Value(slices.Min(levels)))
	}
	for id := range int64(40) {
		_, there := m[id]
		has, err := c.Has(tx, id)
		ok(t, err)
		wantEqual(t, "has", has, there)
		if _, err := c.Get(tx, id); errors.Is(err, stoat.ErrNotFound) == there {
			t.Fatalf("get %d: %v", id, err)
		}
		level, err := record.Field[int32](tx, c, id, "level")
		if errors.Is(err, stoat.ErrNotFound) == there || level != m[id].Level {
			t.Fatalf("level of %d: %d, %v", id, level, err)
		}
	}
}

// values returns what pointers point to.
func values[T any](pointers []*T) (all []T) {
	for _, p := range pointers {
		all = append(all, *p)
	}
	return all
}
