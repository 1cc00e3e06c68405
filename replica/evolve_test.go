package replica

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// Three versions of a type: the second has one field more and one less, and renames one; the third
// has a wider number.
type (
	first struct {
		ID   int64  `stoat:"id,key"`
		Name string `stoat:"name"`
		Old  string `stoat:"old"`
		N    int8   `stoat:"n"`
	}
	second struct {
		ID    int64            `stoat:"id,key"`
		Title string           `stoat:"title,index,was=name"`
		N     int8             `stoat:"n"`
		New   []map[string]int `stoat:"new"`
	}
	third struct {
		Key   int64  `stoat:"key,key,was=id"`
		Title string `stoat:"title,was=name"`
		Old   string `stoat:"old"`
		N     int64  `stoat:"n"`
	}
	fourth struct {
		Key int64            `stoat:"key,key,was=id"`
		New []map[string]int `stoat:"new"`
	}
)

func collectionOf[T any](p *peer) *record.Collection[T] {
	p.t.Helper()
	c, err := Collection[T](p.space, "things", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func got[T any](p *peer, c *record.Collection[T]) T {
	p.t.Helper()
	var v *T
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		v, err = c.Get(tx, 1)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return *v
}

func TestCollection_ofDifferentProgramVersions(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	c := newPeer(t, a)
	one, two := collectionOf[first](a), collectionOf[second](b)
	a.update(func(tx *stoat.Tx) error {
		return one.Put(tx, &first{ID: 1, Name: "name", Old: "old", N: 1})
	})
	meet(t, a, b)
	b.update(func(tx *stoat.Tx) error {
		return two.Update(tx, 1, func(v *second) error {
			if v.Title != "name" {
				return errors.New(v.Title)
			}
			v.Title, v.New = "title", []map[string]int{{"x": 1}}
			return nil
		})
	})
	meet(t, a, b)
	if v := got(a, one); v.Name != "title" || v.Old != "old" {
		t.Errorf("the first version has %+v", v)
	}
	a.update(func(tx *stoat.Tx) error {
		return one.Update(tx, 1, func(v *first) error { v.Name = "again"; return nil })
	})
	meet(t, a, b)
	if v := got(b, two); v.Title != "again" || len(v.New) != 1 || v.New[0]["x"] != 1 {
		t.Errorf("the second version has %+v", v)
	}
	meet(t, b, c) // which has not opened the collection
	three := collectionOf[third](c)
	if v := got(c, three); v.Title != "again" || v.Old != "old" || v.N != 1 {
		t.Errorf("the third version has %+v", v)
	}
	c.update(func(tx *stoat.Tx) error { return record.SetField(tx, three, 1, "n", int64(1000)) })
	meet(t, a, c)
	meet(t, a, b)
	if got(a, one).N != 127 || got(b, two).N != 127 {
		t.Error("a number that does not fit is not the nearest that does")
	}
	a.update(func(tx *stoat.Tx) error { return record.SetField(tx, one, 1, "old", "newer") })
	meet(t, a, c)
	if v := got(c, three); v.N != 1000 || v.Old != "newer" {
		t.Errorf("the third version has %+v", v)
	}
	meet(t, a, b)
	agree(t, a, b, c)

	// The programs are updated: nothing was lost meanwhile, and nothing is written.
	before := len(factsOf(a))
	for _, p := range []*peer{a, b} {
		if v := got(p, collectionOf[third](p)); v.N != 1000 || v.Title != "again" || v.Old != "newer" {
			t.Errorf("after the update: %+v", v)
		}
	}
	if v := got(a, collectionOf[fourth](a)); len(v.New) != 1 {
		t.Errorf("what the type lacked is lost: %+v", v)
	}
	if len(factsOf(a)) != before {
		t.Error("opening a collection wrote entries")
	}
	agree(t, a, b, c)
}

func TestSpace_survivesReopening(t *testing.T) {
	dir := t.TempDir()
	p := &peer{t: t, now: noon, seed: [32]byte{9}}
	for i := range 3 {
		db, err := stoat.Open(dir, &stoat.Options{Sync: stoat.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		p.db = db
		if i == 0 {
			p.space, err = Create(db, "team", p.options())
		} else {
			if _, err := Create(db, "team", p.options()); !errors.Is(err, ErrExists) {
				t.Errorf("got %v", err)
			}
			p.space, err = Open(db, "team", p.options())
		}
		if err != nil {
			t.Fatal(err)
		}
		p.open()
		p.put(task{ID: int64(i), Title: "t"})
		if got := len(factsOf(p)); got != i+2 || len(all(p)) != i+1 {
			t.Errorf("opened %d times, it has %d entries", i, got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen_byAnotherDeviceBeginsALog(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "a"})
	if err := p.space.Seal(); err != nil {
		t.Fatal(err)
	}
	p.seed[5]++
	p.now = noon.Add(-time.Hour)
	before := p.tasks
	var err error
	if p.space, err = Open(p.db, "team", p.options()); err != nil {
		t.Fatal(err)
	}
	p.open()
	p.edit(func(v *task) { v.Title = "b" })
	err = p.db.Update(func(tx *stoat.Tx) error { return before.Put(tx, &task{ID: 2}) })
	if !errors.Is(err, errOtherDevice) {
		t.Errorf("the first device writes to the log of the second: %v", err)
	}
	other := newPeer(t, p)
	meet(t, p, other)
	agree(t, p, other)
	if got := other.get(1); got == nil || got.Title != "b" || len(conflicts(other)) > 0 {
		t.Errorf("got %+v", got)
	}
	if _, err := Open(p.db, "none", p.options()); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A conflict is about a field with its rule: a type that has another rule, or not the field, cannot
// settle it, and a replica that tries says so, and writes nothing that others cannot read.
func TestSettle_ofAFieldWithAnotherRule(t *testing.T) {
	type keeping struct {
		ID   int64  `stoat:"id,key"`
		Name string `stoat:"name,merge=keep"`
	}
	type setting struct {
		ID   int64  `stoat:"id,key"`
		Name string `stoat:"name"`
	}
	a := newPeer(t, nil)
	b := newPeer(t, a)
	kept := collectionOf[keeping](a)
	a.update(func(tx *stoat.Tx) error { return kept.Put(tx, &keeping{1, "a"}) })
	there := collectionOf[keeping](b)
	b.update(func(tx *stoat.Tx) error { return there.Put(tx, &keeping{1, "b"}) })
	meet(t, a, b)
	settle := func() error {
		return a.db.Update(func(tx *stoat.Tx) error {
			for c, err := range a.space.Conflicts(tx) {
				if err = errors.Join(err, a.space.Settle(tx, c)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	collectionOf[setting](a)
	if err := settle(); err == nil || !strings.Contains(err.Error(), "no field name") {
		t.Errorf("with another rule: %v", err)
	}
	collectionOf[struct {
		ID int64 `stoat:"id,key"`
	}](a)
	if err := settle(); err == nil {
		t.Error("a type without the field settles it")
	}
	collectionOf[keeping](a)
	must(t, settle())
	meet(t, a, b)
	agree(t, a, b)
}
