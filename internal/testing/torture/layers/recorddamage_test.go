package layers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// collectionOn creates a collection with the last schema on a disk.
func collectionOn(t *testing.T, disk *memfs.FS, known []schema) *collectionModel {
	t.Helper()
	db := openOn(t, disk)
	c, err := known[schemaNick].open(db)
	ok(t, err)
	m := &collectionModel{schema: schemaNick, rows: map[int64]person{}}
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for id := range int64(6) {
			p := person{
				ID: id, Email: fmt.Sprintf("%d@0", id), Age: int32(id), City: "ulm",
				Tags: []string{"a", "b"}, Nick: "al",
			}
			m.rows[id] = p
			if err := c.put(tx, p); err != nil {
				return err
			}
		}
		return nil
	}))
	ok(t, db.Close())
	return m
}

// TestRecords_brokenIsNoticed tests the test: it damages the raw buckets of a collection.
func TestRecords_brokenIsNoticed(t *testing.T) {
	known := schemas(record.CodecBinary)
	disk := memfs.New()
	m := collectionOn(t, disk, known)
	key := func(values ...any) string {
		encoded, err := tuple.Encode(values...)
		ok(t, err)
		return string(encoded)
	}
	const zeros = "\x00\x00\x00\x00\x00\x00\x00"
	index := func(name string) []string { return []string{"people", "index " + name} }
	all := []damage{
		{"an entry of an ordered index is gone", index("age"), removeFirst,
			names("own", "indexes", "queries")},
		{"an entry of a unique index is gone", index("email"), removeFirst,
			names("own", "indexes")},
		{"an entry of a list is gone", index("tags"), removeFirst,
			names("own", "indexes", "queries")},
		{"an entry of several fields is gone", index("city"), removeFirst,
			names("own", "indexes")},
		{"an entry of the new index is gone", index("nick"), removeFirst,
			names("own", "indexes", "queries")},
		{
			"a unique entry is another's", index("email"), put(key("3@0"), key(int64(4))),
			names("own", "indexes", "queries"),
		},
		{
			"there is an entry too many", index("age"), put(key(int64(9), int64(3)), ""),
			names("own", "indexes"),
		},
		{"there is an entry of nothing", index("age"), put(key(int64(9), int64(99)), ""),
			names("own")},
		{"a record is gone", []string{"people"}, removeFirst, names("own", "queries", "indexes")},
		{"the count is wrong", []string{"people", "meta"}, put("count", "\x07"+zeros),
			names("own", "count")},
		{"the definition is another", []string{"people", "meta"}, put("definition", "{}"), nil},
		{"an index is left", []string{"people"}, func(b *stoat.Bucket) error {
			_, err := b.CreateBucket([]byte("index gone"))
			return err
		}, names("buckets")},
		{"an index is missing", []string{"people"}, func(b *stoat.Bucket) error {
			return b.DeleteBucket([]byte("index tags"))
		}, names("own", "indexes", "queries", "buckets")},
	}
	w := workload[*collectionModel]{find: finder(known)}
	noticed(t, disk, w, m, all, func(db *stoat.DB) map[string]error {
		found := map[string]error{}
		ok(t, db.View(func(tx *stoat.Tx) error {
			c, err := known[schemaNick].openTx(tx)
			if err != nil {
				return nil // find reports it, too
			}
			found["own"] = c.Verify(tx)
			found["count"] = m.verifyCount(tx, c, known[schemaNick])
			found["queries"] = m.verifyQueries(tx, c, known[schemaNick])
			found["indexes"] = m.verifyIndexes(tx, c, known[schemaNick])
			found["buckets"] = m.verifyBuckets(tx, c, known[schemaNick])
			return nil
		}))
		return found
	})
}

// TestRecords_lostAndOtherStatesAreNoticed expects find to reject a collection in none of the
// states, and to tell older states apart.
func TestRecords_lostAndOtherStatesAreNoticed(t *testing.T) {
	known := schemas(record.CodecJSON)
	disk := memfs.New()
	m := collectionOn(t, disk, known)
	less, other, older := m.clone(), m.clone(), m.clone()
	delete(less.rows, 3)
	other.rows[3] = person{ID: 3}
	older.schema = schemaPlain
	db := openOn(t, disk)
	for i, states := range [][]*collectionModel{{less}, {other}, {older}, {less, other, older}} {
		if _, err := finder(known)(db, states); err == nil {
			t.Errorf("the states %d have none that there is", i)
		}
	}
	found, err := finder(known)(db, []*collectionModel{less, m, other})
	if ok(t, err); found != 1 {
		t.Errorf("state %d is found, want 1", found)
	}
	ok(t, db.Close())
}

// TestRecords_wrongLiveQueriesAreNoticed tests the checks of live queries.
func TestRecords_wrongLiveQueriesAreNoticed(t *testing.T) {
	disk := memfs.New()
	m := collectionOn(t, disk, schemas(record.CodecBinary))
	db := openOn(t, disk)
	less := m.clone()
	delete(less.rows, 3)
	q := recordQueries()[0]
	now := &liveResult{db.Position(), m.rows}
	for _, c := range []struct {
		s       *liveResult
		states  []*collectionModel
		found   int
		durable bool
		want    string // part of the error; empty if none
	}{
		{now, []*collectionModel{less, m}, 1, true, ""},
		{now, []*collectionModel{less, m}, 0, false, ""},
		{now, []*collectionModel{less, m}, 0, true, "state 0 was found"},
		{now, []*collectionModel{less, less}, 1, false, "no state"},
		{&liveResult{now.at + 1, m.rows}, []*collectionModel{less, m}, 1, true, "newest"},
	} {
		err := c.s.bears(q, db, c.states, c.found, c.durable)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want %q", err, c.want)
		}
	}
	p := m.rows[3]
	for name, n := range map[string]change{
		"added twice":      {added: []person{p}},
		"changed to same":  {changed: []person{p}},
		"changed, unknown": {changed: []person{{ID: 77}}},
		"removed, unknown": {removed: []person{{ID: 77}}},
		"removed, another": {removed: []person{{ID: 3}}},
	} {
		if learn(m.clone().rows, n) == nil {
			t.Errorf("%s: nobody has noticed", name)
		}
	}
	ok(t, db.Close())
}
