package record_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/record"
)

// visit is a record that expires.
type visit struct {
	ID    int64     `stoat:"id,key"`
	Name  string    `stoat:"name,unique"`
	Level int32     `stoat:"level,index"`
	Score float64   `stoat:"score"`
	Until time.Time `stoat:"until,expires"`
}

// lasting is a visit that does not expire.
type lasting struct {
	ID    int64     `stoat:"id,key"`
	Name  string    `stoat:"name"`
	Level int32     `stoat:"level,index"`
	Score float64   `stoat:"score"`
	Until time.Time `stoat:"until"`
}

// fakeClock is a clock that tests move.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *fakeClock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// noon is when the clocks of tests start.
var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// openAt returns a database in memory whose clock shows noon.
func openAt(tb testing.TB) (*stoat.DB, *fakeClock) {
	tb.Helper()
	clock := &fakeClock{now: noon}
	db, err := tuned.OpenMemory(nil, engine.Tuning{Now: clock.read})
	ok(tb, err)
	tb.Cleanup(func() { ok(tb, db.Close()) })
	return db, clock
}

// openVisits returns visits 1 to n, of which the nth expires n seconds after noon, and 0, which
// stays.
func openVisits(tb testing.TB, n int64) (*stoat.DB, *fakeClock, *record.Collection[visit]) {
	tb.Helper()
	db, clock := openAt(tb)
	c := mustOpen[visit](tb, db, "visits", nil)
	put(tb, db, c, &visit{Name: "0"})
	for id := int64(1); id <= n; id++ {
		put(tb, db, c, &visit{ID: id, Name: fmt.Sprint(id), Level: int32(id), Score: float64(id),
			Until: noon.Add(time.Duration(id) * time.Second)})
	}
	return db, clock, c
}

// entries returns how many records are stored, and how many entries an index has.
func entries(tb testing.TB, db *stoat.DB, index string) (records, indexed int) {
	tb.Helper()
	view(tb, db, func(tx *stoat.Tx) error {
		data, err := tx.Bucket([]byte("visits"))
		ok(tb, err)
		b, err := data.Bucket([]byte("index " + index))
		ok(tb, err)
		for range data.Keys(stoat.Range{}) {
			records++
		}
		for range b.Keys(stoat.Range{}) {
			indexed++
		}
		return nil
	})
	return records, indexed
}

func TestExpires_hidesARecordFromItsMomentOn(t *testing.T) {
	db, clock, c := openVisits(t, 3)
	clock.advance(2*time.Second - 1)
	count := func() (n uint64) {
		view(t, db, func(tx *stoat.Tx) (err error) {
			n, err = c.Count(tx)
			return err
		})
		return n
	}
	wantEqual(t, "before the moment", count(), uint64(3))
	clock.advance(1)
	wantEqual(t, "at the moment", count(), uint64(2))
	clock.advance(100 * 365 * 24 * time.Hour)
	wantEqual(t, "what stays", count(), uint64(1))
}

func TestExpires_isOneMomentInATransaction(t *testing.T) {
	db, clock, c := openVisits(t, 2)
	other := mustOpen[visit](t, db, "others", nil)
	put(t, db, other, &visit{ID: 1, Until: noon.Add(time.Second)})
	view(t, db, func(tx *stoat.Tx) error {
		_, err := c.Get(tx, 1)
		ok(t, err)
		clock.advance(time.Hour)
		_, err = other.Get(tx, 1)
		return err
	})
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := other.Get(tx, 1); !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("in the next transaction: %v", err)
		}
		return nil
	})
}

func TestExpires_readsThePlaceOfWhatIsOver(t *testing.T) {
	db, clock, c := openVisits(t, 5)
	put(t, db, c, &visit{ID: 9, Name: "nine", Level: 1})
	clock.advance(2 * time.Second)
	view(t, db, func(tx *stoat.Tx) error {
		v, err := c.By("level").Get(tx, 1) // behind one that has expired
		ok(t, err)
		wantEqual(t, "of the level", v.ID, int64(9))
		_, err = c.By("name").Get(tx, "1")
		wantError(t, err, "not found")
		var ids []int64
		for v, err := range c.Query().OrderBy("level").Offset(1).Limit(2).All(tx) {
			ok(t, err)
			ids = append(ids, v.ID)
		}
		wantEqual(t, "the second and third", ids, []int64{9, 3})
		for g, err := range c.Query().GroupBy("level").All(tx) {
			ok(t, err)
			wantEqual(t, "group", g.Count, uint64(1))
		}
		sum, err := c.Query().Sum(tx, "score")
		wantEqual(t, "sum of what is in no index", sum, 3.0+4+5)
		return err
	})
}

func TestExpires_sweepsAsManyAsAreWritten(t *testing.T) {
	db, clock, c := openVisits(t, 1000)
	clock.advance(time.Hour)
	id := int64(2000)
	for records := 1001; records > 100; {
		before := records
		put(t, db, c, &visit{ID: id, Name: fmt.Sprint(id)})
		id++
		records, _ = entries(t, db, "until")
		wantEqual(t, "swept", before+1-records, 64)
	}
	update(t, db, func(tx *stoat.Tx) error { // one transaction keeps up with what it writes
		all := make([]*visit, 300)
		for i := range all {
			all[i] = &visit{ID: id + int64(i), Name: fmt.Sprint(id + int64(i))}
		}
		_, err := c.InsertAll(tx, slices.Values(all))
		return err
	})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		records, indexed := entries(t, db, "until")
		wantEqual(t, "stored", records, int(n))
		wantEqual(t, "indexed", indexed, int(n))
		return err
	})
}

func TestSweep_deletesAllThatIsOver(t *testing.T) {
	db, clock, c := openVisits(t, 500)
	clock.advance(400 * time.Second)
	update(t, db, func(tx *stoat.Tx) error {
		n, err := c.Sweep(tx)
		wantEqual(t, "swept", n, uint64(400))
		return err
	})
	for _, index := range []string{"name", "level", "until"} {
		records, indexed := entries(t, db, index)
		wantEqual(t, "stored", records, 101)
		wantEqual(t, index, indexed, 101)
	}
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := c.Sweep(tx); !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("in a View: %v", err)
		}
		return c.Verify(tx)
	})
}

func TestExpires_leavesKeysAndUniqueValuesToOthers(t *testing.T) {
	db, clock, c := openVisits(t, 200)
	clock.advance(200 * time.Second) // more than one write sweeps
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, c.Insert(tx, &visit{ID: 200, Name: "a"}))   // the key
		ok(t, c.Insert(tx, &visit{ID: 300, Name: "199"})) // the name
		ok(t, c.Put(tx, &visit{ID: 198, Name: "197"}))    // both, of two
		return c.Update(tx, 198, func(v *visit) error {
			v.Name = "196"
			return nil
		})
	})
	update(t, db, func(tx *stoat.Tx) error {
		_, err := c.InsertAll(tx, slices.Values([]*visit{
			{ID: 195, Name: "194"}, {ID: 301, Name: "193"}, {ID: 302, Name: "b", Until: noon},
			{ID: 302, Name: "b", Until: noon}, {ID: 302, Name: "b"},
		}))
		return err
	})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		wantEqual(t, "records", n, uint64(7))
		ok(t, err)
		return c.Verify(tx)
	})
	err := db.Update(func(tx *stoat.Tx) error { return c.Insert(tx, &visit{ID: 303, Name: "b"}) })
	if !errors.Is(err, record.ErrDuplicate) {
		t.Errorf("the name of a record that is there: %v", err)
	}
}

func TestExpires_leavesOutWhatTheBodyOfALoopEnds(t *testing.T) {
	for _, over := range []int64{0, 70} { // the body sweeps some of these
		db, clock, c := openVisits(t, over+30)
		clock.advance(time.Duration(over) * time.Second)
		in := []record.Value{over + 1, over + 2, over + 3, over + 4, over + 5, over + 6}
		for i, loop := range []func(tx *stoat.Tx) iter.Seq2[*visit, error]{
			c.By("level").All, c.Query().Where(record.Ge("level", 1)).All,
			c.Query().Where(record.In("level", in...)).OrderBy("level").All,
		} {
			err := db.Update(func(tx *stoat.Tx) error {
				var ids []int64
				for v, err := range loop(tx) {
					ok(t, err)
					if v.ID == 0 || v.ID > over+6 {
						continue
					}
					ids = append(ids, v.ID)
					ok(t, record.SetField(tx, c, v.ID+1, "until", noon))
				}
				wantEqual(t, fmt.Sprint("loop ", i), ids, []int64{over + 1, over + 3, over + 5})
				ok(t, c.Verify(tx))
				return errRollback
			})
			if !errors.Is(err, errRollback) {
				t.Fatal(err)
			}
		}
	}
}

func TestExpires_leavesSumsToTheIndexUntilSomethingIsOver(t *testing.T) {
	db, clock, c := openVisits(t, 3)
	clock.advance(time.Second)
	explained := func() (said string) {
		view(t, db, func(tx *stoat.Tx) error {
			sum, err := c.Query().SumInt(tx, "level")
			wantEqual(t, "sum", sum, int64(5))
			said = c.Query().Where(record.Ge("level", 0)).Explain(tx)
			return err
		})
		return said
	}
	wantEqual(t, "checks", strings.Contains(explained(), "it checks that until has not passed"), true)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := c.Sweep(tx)
		return err
	})
	wantEqual(t, "checks", strings.Contains(explained(), "checks"), false)
	update(t, db, func(tx *stoat.Tx) error { // behind the back of the indexes
		data, err := tx.Bucket([]byte("visits"))
		ok(t, err)
		return data.DeleteRange(stoat.Range{})
	})
	explained()
}

func TestExpires_followsChangesOfItsField(t *testing.T) {
	db, clock, c := openVisits(t, 2)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, record.SetField(tx, c, 1, "until", time.Time{}))
		return c.Update(tx, 2, func(v *visit) error {
			v.Until = noon.Add(time.Hour)
			return nil
		})
	})
	clock.advance(time.Hour - 1)
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records", len(collect(t, c.All(tx))), 3)
		return nil
	})
	clock.advance(1)
	update(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records", len(collect(t, c.All(tx))), 2)
		if err := c.Update(tx, 2, nil); !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("update: %v", err)
		}
		if err := record.SetField(tx, c, 2, "score", 1.0); !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("set field: %v", err)
		}
		return c.Verify(tx)
	})
}

func TestExpires_comesAndGoesWithTheTag(t *testing.T) {
	db, clock := openAt(t)
	old := mustOpen[lasting](t, db, "visits", nil)
	put(t, db, old, &lasting{ID: 1, Name: "a", Until: noon.Add(time.Second)},
		&lasting{ID: 2, Name: "b"},
		&lasting{ID: 3, Name: "b", Until: noon.Add(time.Hour)})
	clock.advance(time.Hour)
	c := mustOpen[visit](t, db, "visits", nil) // with a name that was not unique before
	view(t, db, func(tx *stoat.Tx) error {
		all := collect(t, c.All(tx))
		wantEqual(t, "records", len(all), 1)
		wantEqual(t, "what stays", all[0].ID, int64(2))
		return c.Verify(tx)
	})
	later, err := record.Reindex[visit](db, "visits", nil)
	ok(t, err)
	put(t, db, later, &visit{ID: 4, Name: "d", Until: noon.Add(2 * time.Hour)})
	clock.advance(2 * time.Hour)
	old = mustOpen[lasting](t, db, "visits", nil)
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records without the tag", len(collect(t, old.All(tx))), 2)
		return old.Verify(tx)
	})
}

func TestWatch_tellsWhatIsSwept(t *testing.T) {
	db, clock, c := openVisits(t, 2)
	step := 0
	for changes, err := range c.Watch(context.Background(), db, c.Query()) {
		ok(t, err)
		switch step++; step {
		case 1:
			wantEqual(t, "at first", len(changes.Added), 3)
			clock.advance(time.Second)
			put(t, db, c, &visit{ID: 5, Name: "five", Until: noon})
			continue
		case 2:
			wantEqual(t, "added", len(changes.Added), 0) // it had expired when it was stored
			wantEqual(t, "removed", changes.Removed[0].Record.ID, int64(1))
			clock.advance(time.Second)
			update(t, db, func(tx *stoat.Tx) error {
				_, err := c.Sweep(tx)
				return err
			})
			continue
		}
		wantEqual(t, "removed", changes.Removed[0].Record.ID, int64(2))
		break
	}
}

func TestOpen_refusesExpiresOfOtherFields(t *testing.T) {
	db := openMemory(t)
	_, err := record.Open[struct {
		ID    int64 `stoat:"id,key"`
		Until int64 `stoat:"until,expires"`
	}](db, "number", nil)
	wantError(t, err, "until", "expires", "time.Time")
	_, err = record.Open[struct {
		ID int64     `stoat:"id,key"`
		A  time.Time `stoat:"a,expires"`
		B  time.Time `stoat:"b,expires"`
	}](db, "two", nil)
	wantError(t, err, "a and b", "only one can have it")
}
