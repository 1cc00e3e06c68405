package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// three returns a bucket with the keys b, d and f.
func three() *Bucket {
	b := &Bucket{}
	b.Put("d", "4")
	b.Put("b", "2")
	b.Put("f", "6")
	return b
}

// keys joins the keys of entries.
func keys(entries []Entry) string {
	var s strings.Builder
	for _, e := range entries {
		s.WriteString(e.Key)
	}
	return s.String()
}

func TestBucket_putReplacesAndDeleteRemoves(t *testing.T) {
	b := three()
	b.Put("d", "new")
	b.Delete("b")
	b.Delete("absent")
	if v, ok := b.Get("d"); v != "new" || !ok {
		t.Errorf("d is %q, %t", v, ok)
	}
	if _, ok := b.Get("b"); ok || b.Len() != 2 {
		t.Errorf("b is still there, or %d keys are left", b.Len())
	}
}

func TestScan_keepsBoundsOrderAndLimit(t *testing.T) {
	for _, c := range []struct {
		start, end string
		reverse    bool
		limit      int
		want       string
	}{
		{"", "", false, 0, "bdf"},
		{"", "", true, 0, "fdb"},
		{"b", "f", false, 0, "bd"},
		{"c", "", false, 0, "df"},
		{"", "d", true, 0, "b"},
		{"", "", false, 2, "bd"},
		{"", "", true, 2, "fd"},
		{"d", "d", false, 0, ""},
		{"f", "b", false, 0, ""},
	} {
		if got := keys(three().Scan(c.start, c.end, c.reverse, c.limit)); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestDeleteRange_includesStartAndNotEnd(t *testing.T) {
	b := three()
	b.DeleteRange("b", "f", false, 0)
	if got := keys(b.Scan("", "", false, 0)); got != "f" {
		t.Errorf("%q is left", got)
	}
}

func TestDeleteRange_removesWhatScanReturns(t *testing.T) {
	for _, c := range []struct {
		reverse bool
		limit   int
		want    string
	}{
		{false, 0, ""}, {false, 1, "df"}, {false, 2, "f"}, {true, 1, "bd"}, {true, 3, ""},
	} {
		b := three()
		b.DeleteRange("", "", c.reverse, c.limit)
		if got := keys(b.Scan("", "", false, 0)); got != c.want {
			t.Errorf("%+v: %q is left", c, got)
		}
	}
}

// expiring returns a bucket with the keys b, d and f; d expires in 2 ms.
func expiring() (*Bucket, *Clock) {
	clock := NewClock()
	b := three().By(clock)
	b.PutTTL("d", "4", time.Millisecond+1)
	return b, clock
}

func TestPutTTL_makesTheKeyAbsentFromItsMomentOn(t *testing.T) {
	b, clock := expiring()
	snapshot, earlier := b.Clone(), b.By(clock.Stopped())
	clock.Advance(time.Millisecond)
	if v, ok := b.Get("d"); v != "4" || !ok || b.Len() != 3 {
		t.Errorf("1 ms too early d is %q, %t", v, ok)
	}
	clock.Advance(time.Millisecond)
	for name, bucket := range map[string]*Bucket{"bucket": b, "snapshot": snapshot} {
		if _, ok := bucket.Get("d"); ok || bucket.Len() != 2 {
			t.Errorf("d is still in the %s", name)
		}
		if got := keys(bucket.Scan("", "", false, 2)); got != "bf" {
			t.Errorf("%q is in the %s", got, name)
		}
		if e, ok := bucket.Cursor().Seek("c"); e.Key != "f" || !ok {
			t.Errorf("behind c comes %q in the %s", e.Key, name)
		}
	}
	if _, ok := earlier.Get("d"); !ok {
		t.Error("by a clock that stands, d has expired")
	}
	if Diff(b, earlier) != `/: key "d" is missing` || b.Equal(earlier) || !b.Equal(snapshot) {
		t.Error("buckets are not compared by their clocks")
	}
}

func TestPutTTL_endsWithALaterPut(t *testing.T) {
	b, clock := expiring()
	b.Put("d", "stays")
	clock.Advance(time.Hour)
	if v, ok := b.Get("d"); v != "stays" || !ok {
		t.Errorf("d is %q, %t", v, ok)
	}
	b.CreateBucket("in").PutTTL("k", "v", time.Second)
	clock.Advance(time.Second)
	if b.Bucket("in").Len() != 0 {
		t.Error("a bucket within has another clock")
	}
	b.Bucket("in").PutTTL("k", "again", time.Second)
	if v, _ := b.Bucket("in").Get("k"); v != "again" {
		t.Error("an expired key cannot be put again")
	}
}

func TestBucket_agreesWithAMap(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	b, want := &Bucket{}, map[string]string{}
	for range 2000 {
		key := fmt.Sprint(rng.IntN(50))
		if rng.IntN(3) == 0 {
			b.Delete(key)
			delete(want, key)
		} else {
			value := fmt.Sprint(rng.Uint32())
			b.Put(key, value)
			want[key] = value
		}
	}
	for i, key := range slices.Sorted(maps.Keys(want)) {
		if b.Len() != len(want) || b.entries[i].Entry != (Entry{key, want[key]}) {
			t.Fatalf("seed %d: entry %d is %v, want %s: %s", seed, i, b.entries[i], key, want[key])
		}
	}
}

func TestCursor_movesBothWaysAndTurnsAtTheEnds(t *testing.T) {
	c := three().Cursor()
	steps := []struct {
		move func() (Entry, bool)
		want string // "" if there is no entry
	}{
		{c.Next, "b"}, {c.Prev, ""}, {c.Prev, ""}, {c.Next, "b"}, {c.Next, "d"}, {c.Next, "f"},
		{c.Next, ""}, {c.Next, ""}, {c.Prev, "f"}, {c.Prev, "d"}, {c.Last, "f"}, {c.First, "b"},
		{func() (Entry, bool) { return c.Seek("c") }, "d"}, {c.Prev, "b"},
		{func() (Entry, bool) { return c.Seek("d") }, "d"}, {c.Next, "f"},
		{func() (Entry, bool) { return c.Seek("g") }, ""}, {c.Prev, "f"},
	}
	for i, s := range steps {
		if e, ok := s.move(); e.Key != s.want || ok != (s.want != "") {
			t.Errorf("step %d: at %q, %t, want %q", i, e.Key, ok, s.want)
		}
	}
}

func TestCursor_doesNotSeeLaterWrites(t *testing.T) {
	b := three()
	c := b.Cursor()
	b.Put("a", "1")
	b.Delete("b")
	if e, _ := c.First(); e != (Entry{"b", "2"}) {
		t.Errorf("first entry is %v", e)
	}
}

func TestTx_isPrivateUntilCommitted(t *testing.T) {
	db := New(nil)
	before := db.Root()
	tx := db.Begin()
	inner := tx.Root().CreateBucket("x").CreateBucket("y")
	inner.Put("k", "v")
	if inner.NextSequence() != 1 || inner.NextSequence() != 2 {
		t.Error("the sequence does not count 1, 2")
	}
	if !db.Root().Equal(&Bucket{}) {
		t.Error("uncommitted writes are visible")
	}
	tx.Commit()
	if v, _ := db.Root().Bucket("x").Bucket("y").Get("k"); v != "v" {
		t.Error("committed writes are not visible")
	}
	if !before.Equal(&Bucket{}) {
		t.Error("a snapshot has changed")
	}

	later := db.Begin()
	later.Root().Bucket("x").Bucket("y").Put("k", "changed")
	later.Root().Bucket("x").Bucket("y").SetSequence(9)
	if y := db.Root().Bucket("x").Bucket("y"); y.Sequence() != 2 || y.entries[0].Value != "v" {
		t.Error("a transaction that was not committed has changed the database")
	}
}

func TestBuckets_areCreatedOnceAndDropped(t *testing.T) {
	b := &Bucket{}
	if b.CreateBucket("n") == nil || b.CreateBucket("n") != nil {
		t.Error("CreateBucket does not create exactly once")
	}
	b.CreateBucket("a")
	if got := strings.Join(b.Buckets(), " "); got != "a n" {
		t.Errorf("buckets are %q", got)
	}
	if !b.DeleteBucket("n") || b.DeleteBucket("n") || b.Bucket("n") != nil {
		t.Error("DeleteBucket does not delete exactly once")
	}
}

func TestDiff_findsEveryKindOfDifference(t *testing.T) {
	changed := func(change func(b *Bucket)) *Bucket {
		b := three()
		b.CreateBucket("in").Put("k", "v")
		change(b)
		return b
	}
	same := changed(func(*Bucket) {})
	for want, change := range map[string]func(b *Bucket){
		"":                                       func(*Bucket) {},
		`/: sequence 3, want 0`:                  func(b *Bucket) { b.SetSequence(3) },
		`/: key "c" should not be there`:         func(b *Bucket) { b.Put("c", "") },
		`/: key "g" should not be there`:         func(b *Bucket) { b.Put("g", "") },
		`/: key "d" is missing`:                  func(b *Bucket) { b.Delete("d") },
		`/: key "f" is missing`:                  func(b *Bucket) { b.Delete("f") },
		`/: key "b" has value "3", want "2"`:     func(b *Bucket) { b.Put("b", "3") },
		`/: bucket "ab" should not be there`:     func(b *Bucket) { b.CreateBucket("ab") },
		`/: bucket "z" should not be there`:      func(b *Bucket) { b.CreateBucket("z") },
		`/: bucket "in" is missing`:              func(b *Bucket) { b.DeleteBucket("in") },
		`/"in"/: key "k" has value "", want "v"`: func(b *Bucket) { b.Bucket("in").Put("k", "") },
	} {
		b := changed(change)
		if got := Diff(b, same); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if b.Equal(same) != (want == "") {
			t.Errorf("Equal and Diff do not agree on %q", want)
		}
	}
}
