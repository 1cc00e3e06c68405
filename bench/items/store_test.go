package items

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
)

const testPath = "/test/a \"quoted\" name"

// eachStore runs a test with an open store of every kind.
func eachStore(t *testing.T, fn func(t *testing.T, i implementation, dir string, s store)) {
	t.Helper()
	for _, i := range implementations() {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fn(t, i, dir, openStore(t, i, dir))
		})
	}
}

func openStore(t testing.TB, i implementation, dir string) store {
	t.Helper()
	s, err := i.open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() }) // a test that needs it closes it itself, and checks
	return s
}

func openRepository(t testing.TB, s store, path string) repository {
	t.Helper()
	r, err := s.repository(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// filled returns a repository with so many items, and them.
func filled(t testing.TB, s store, n int) (repository, []item) {
	t.Helper()
	r := openRepository(t, s, testPath)
	all := newItems(newRandom(1, "test"), n)
	if err := r.create(all...); err != nil {
		t.Fatal(err)
	}
	return r, all
}

func checkItems(t testing.TB, want []item, o order) func(got []item, err error) {
	return func(got []item, err error) {
		t.Helper()
		if err := compareItems(got, want, o, err); err != nil {
			t.Error(err)
		}
	}
}

func TestStore_returnsWhatWasCreated(t *testing.T) {
	eachStore(t, func(t *testing.T, _ implementation, _ string, s store) {
		r, all := filled(t, s, 20)
		one := newItem(newRandom(2, "test"), 20)
		one.Title, one.Tags = "\"quotes\", \\ and ü\x00", []string{}
		if err := r.create(one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
		for _, want := range all {
			got, err := s.read(join(testPath, want.ID))
			checkItems(t, []item{want}, inOrder)([]item{got}, err)
		}
		checkItems(t, all, anyOrder)(r.readAll())
		checkItems(t, all[3:9], anyOrder)(r.readMany(ids(all[3:9])))
		keys, err := r.keys()
		if err := errors.Join(err, compareKeys(keys, all)); err != nil {
			t.Error(err)
		}
		if n, err := r.count(); n != 21 || err != nil {
			t.Errorf("count is %d, %v", n, err)
		}
	})
}

func ids(items []item) (ids []string) {
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return ids
}

func TestStore_keepsRepositoriesApart(t *testing.T) {
	eachStore(t, func(t *testing.T, _ implementation, _ string, s store) {
		_, all := filled(t, s, 3)
		other := openRepository(t, s, "/test/other")
		if n, err := other.count(); n != 0 || err != nil {
			t.Errorf("the other repository has %d items, %v", n, err)
		}
		if _, err := s.read(join("/test/other", all[0].ID)); !errors.Is(err, errNotFound) {
			t.Errorf("read an item of another repository: %v", err)
		}
	})
}

func TestStore_updatesAllFields(t *testing.T) {
	eachStore(t, func(t *testing.T, _ implementation, _ string, s store) {
		r, all := filled(t, s, 5)
		all[2].Title, all[2].Count, all[2].Tags = "new", -1, []string{"x", "y", "z"}
		if err := r.update(all[2]); err != nil {
			t.Fatal(err)
		}
		checkItems(t, all, anyOrder)(r.readAll())
	})
}

func TestStore_keepsEverythingAcrossReopening(t *testing.T) {
	eachStore(t, func(t *testing.T, i implementation, dir string, s store) {
		r, all := filled(t, s, 30)
		all[7].Title = "new"
		if err := errors.Join(r.update(all[7]), s.close()); err != nil {
			t.Fatal(err)
		}
		checkItems(t, all, anyOrder)(openRepository(t, openStore(t, i, dir), testPath).readAll())
	})
}

func TestStore_rejectsWhatIsAbsentOrThereAlready(t *testing.T) {
	eachStore(t, func(t *testing.T, _ implementation, _ string, s store) {
		r, all := filled(t, s, 3)
		absent := newItem(newRandom(3, "test"), 0)
		if _, err := s.read(join(testPath, absent.ID)); !errors.Is(err, errNotFound) {
			t.Errorf("read an absent item: %v", err)
		}
		if _, err := r.readMany([]string{all[0].ID, absent.ID}); !errors.Is(err, errNotFound) {
			t.Errorf("read an absent item among others: %v", err)
		}
		if err := r.update(absent); !errors.Is(err, errNotFound) {
			t.Errorf("update an absent item: %v", err)
		}
		if _, err := s.read("no path"); err == nil {
			t.Error("read of a path without a slash")
		}
		if err := r.create(all[1]); err == nil {
			t.Error("created an item that is there")
		}
		if err := r.create(absent, all[1]); err == nil {
			t.Error("created items of which one is there")
		}
		checkItems(t, all, anyOrder)(r.readAll())
		if err := r.create(absent); err != nil {
			t.Errorf("create after an error: %v", err)
		}
	})
}

func TestStore_findsWhatQueriesWant(t *testing.T) {
	eachStore(t, func(t *testing.T, _ implementation, _ string, s store) {
		r, all := filled(t, s, some)
		for _, c := range []struct {
			q    query
			want int
		}{
			{simpleQuery(), 49},
			{complexQuery(), 1},
			{query{above: 30, below: 70, byCount: true}, 39},
			{query{above: 30, below: 70, tag: "category2", byCount: true}, 8},
			{query{above: -1, tag: "category0"}, 20},
			{query{above: 99}, 0},
		} {
			want := c.q.find(all)
			if len(want) != c.want {
				t.Errorf("%+v wants %d items, not %d", c.q, len(want), c.want)
			}
			checkItems(t, want, order(c.q.byCount))(r.query(c.q))
		}
	})
}

func TestSQLite_hasTheJournalAndDurabilityAskedFor(t *testing.T) {
	const off, full = "0", "2"
	for _, c := range []struct {
		name, journal, synchronous string
		sync                       bool
	}{
		{"sqlite", "delete", full, true},
		{"sqlite", "delete", off, false},
		{"sqlite-wal", "wal", full, true},
		{"sqlite-wal", "wal", off, false},
	} {
		i, err := find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := i.open(t.TempDir(), c.sync)
		if err != nil {
			t.Fatal(err)
		}
		conn := s.(*sqliteStore).conn
		if got := setting(t, conn, "journal_mode"); got != c.journal {
			t.Errorf("%s has the journal mode %s", c.name, got)
		}
		if got := setting(t, conn, "synchronous"); got != c.synchronous {
			t.Errorf("%s, sync %v: synchronous is %s", c.name, c.sync, got)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func setting(t testing.TB, conn *sql.Conn, name string) (value string) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestItems_dependOnTheSeedAlone(t *testing.T) {
	a, b := newItems(newRandom(1, "x"), 50), newItems(newRandom(1, "x"), 50)
	c := newItems(newRandom(2, "x"), 50)
	if !slices.EqualFunc(a, b, equal) {
		t.Error("one seed gave two data sets")
	}
	if a[0].ID == c[0].ID {
		t.Error("two seeds gave the same ids")
	}
	seen := ids(a)
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 50 {
		t.Error("ids are not distinct")
	}
	if it := a[13]; it.Count != 13 || !slices.Equal(it.Tags, []string{"tag13", "category3"}) {
		t.Errorf("item 13 is %+v", it)
	}
}
