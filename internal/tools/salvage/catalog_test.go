package salvage

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// number returns an entry whose value is n.
func number(n uint64) keyspace.Entry {
	return keyspace.Entry{Kind: keyspace.KindPut, Value: binary.AppendUvarint(nil, n)}
}

// named returns the key of a bucket's entry.
func named(parent uint64, name string) []byte {
	return append(keyspace.AppendCatalog(nil, parent), name...)
}

// addAll adds entries of buckets, each with its parent, its name and its id.
func addAll(t testing.TB, c *catalog, all ...bucketEntry) {
	t.Helper()
	for _, b := range all {
		if problem := c.add(named(b.parent, b.name), number(b.id)); problem != "" {
			t.Fatalf("bucket %q: %s", b.name, problem)
		}
	}
}

// bucketEntry is a bucket with its id.
type bucketEntry struct {
	parent uint64
	name   string
	id     uint64
}

func TestCatalog_keepsWhatIsWhole(t *testing.T) {
	c := newCatalog(nil)
	addAll(t, c, bucketEntry{0, "a", 1}, bucketEntry{1, "b", 300})
	c.add(keyspace.AppendSequence(nil, 300), number(7))
	c.add(keyspace.AppendNextID(nil), number(400))
	c.close()
	want := []pair{
		{named(0, "a"), number(1)}, {named(1, "b"), number(300)},
		{keyspace.AppendSequence(nil, 300), number(7)}, {keyspace.AppendNextID(nil), number(400)},
	}
	equal := func(a, b pair) bool {
		return bytes.Equal(a.key, b.key) && bytes.Equal(a.entry.Value, b.entry.Value)
	}
	if got := c.pairs(); !slices.EqualFunc(got, want, equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	if path, ok := c.path(300); !ok || !slices.Equal(path, []string{"a", "b"}) {
		t.Errorf("the path is %q, %v", path, ok)
	}
}

func TestCatalog_dropsWhatIsWithinADroppedBucket(t *testing.T) {
	c := newCatalog(&manifest.Version{Dropped: []manifest.Drop{{First: 5, Last: 6}}, DropEpoch: 1})
	addAll(t, c, bucketEntry{0, "kept", 1}, bucketEntry{1, "gone", 2}, bucketEntry{2, "in it", 3},
		bucketEntry{3, "deep", 4}, bucketEntry{6, "in six", 7})
	c.add(keyspace.AppendDropped(nil, 2), keyspace.Entry{Kind: keyspace.KindPut})
	c.add(keyspace.AppendSequence(nil, 4), number(1))
	c.close()
	for id := range uint64(9) {
		if want := id >= 2 && id < 8; c.gone(id) != want {
			t.Errorf("bucket %d is gone: %v", id, !want)
		}
	}
	if len(c.buckets) != 1 || len(c.sequences) != 0 || len(c.lost) != 0 || c.nextID() != 8 {
		t.Errorf("%v, %v, %v, next %d", c.buckets, c.sequences, c.lost, c.nextID())
	}
}

func TestCatalog_makesBucketsForWhatHasNone(t *testing.T) {
	c := newCatalog(nil)
	addAll(t, c, bucketEntry{0, "lost-2", 1}, bucketEntry{2, "child", 9})
	c.add(keyspace.AppendSequence(nil, 3), number(1))
	c.close()
	c.want(12)
	c.want(9)
	if got := c.lostNames(); !slices.Equal(got, []string{"lost-2-2", "lost-3", "lost-12"}) {
		t.Errorf("made %q", got)
	}
	if path, ok := c.path(9); !ok || !slices.Equal(path, []string{"lost-2-2", "child"}) {
		t.Errorf("the path is %q, %v", path, ok)
	}
	if n := c.nextID(); n != 13 {
		t.Errorf("the next id is %d", n)
	}
}

func TestCatalog_refusesWhatCannotBe(t *testing.T) {
	c := newCatalog(nil)
	addAll(t, c, bucketEntry{0, "a", 1})
	for _, p := range []pair{
		{named(0, "again"), number(1)},
		{named(7, "before its parent"), number(7)},
		{named(0, "root"), number(0)},
		{named(0, ""), number(5)},
		{named(0, "no number"), keyspace.Entry{Kind: keyspace.KindPut, Value: []byte{0x80}}},
		{[]byte{0x05, 1}, number(1)},
		{[]byte{}, number(1)},
	} {
		if c.add(p.key, p.entry) == "" {
			t.Errorf("%q was taken", p.key)
		}
	}
}

// TestCatalog_takesBucketsThatWereMoved has ids below that of what they are in.
func TestCatalog_takesBucketsThatWereMoved(t *testing.T) {
	c := newCatalog(&manifest.Version{Dropped: []manifest.Drop{{First: 8, Last: 8}}, DropEpoch: 1})
	addAll(t, c, bucketEntry{0, "newer", 9}, bucketEntry{9, "older", 3}, bucketEntry{3, "oldest", 1},
		bucketEntry{8, "gone", 4}, bucketEntry{4, "gone with it", 2})
	c.close()
	if path, ok := c.path(1); !ok || !slices.Equal(path, []string{"newer", "older", "oldest"}) {
		t.Errorf("the path is %q, %v", path, ok)
	}
	if !c.gone(4) || !c.gone(2) || len(c.buckets) != 3 || len(c.lost) > 0 {
		t.Errorf("%v, %v", c.buckets, c.lost)
	}
}

// TestCatalog_cutsBucketsThatLieInEachOther has what is left of two moves of which the newest
// entries are lost.
func TestCatalog_cutsBucketsThatLieInEachOther(t *testing.T) {
	c := newCatalog(nil)
	addAll(t, c, bucketEntry{2, "a", 1}, bucketEntry{1, "b", 2}, bucketEntry{2, "c", 3})
	if path, ok := c.path(3); ok {
		t.Errorf("the path is %q", path)
	}
	c.close()
	for id := range uint64(3) {
		if path, ok := c.path(id + 1); !ok || len(path) > 3 || path[0][:5] != "lost-" {
			t.Errorf("the path of %d is %q, %v", id+1, path, ok)
		}
	}
	if len(c.lost) != 1 || len(c.buckets) != 2 {
		t.Errorf("%v, %v", c.buckets, c.lost)
	}
	if problem := c.add(named(5, "in itself"), number(5)); problem == "" {
		t.Error("a bucket lies in itself")
	}
}

// TestCatalog_prefersWhereABucketWasMovedTo has entries that tombstones hid until the flush that
// dropped what the buckets were moved out of.
func TestCatalog_prefersWhereABucketWasMovedTo(t *testing.T) {
	c := newCatalog(&manifest.Version{Dropped: []manifest.Drop{{First: 5, Last: 5}}, DropEpoch: 1})
	addAll(t, c, bucketEntry{0, "kept", 1}, bucketEntry{1, "before", 7}, bucketEntry{5, "stale", 7},
		bucketEntry{5, "stale, too", 8}, bucketEntry{9, "after", 8}, bucketEntry{0, "other", 9})
	c.close()
	for id, want := range map[uint64][]string{7: {"kept", "before"}, 8: {"other", "after"}} {
		if path, ok := c.path(id); !ok || !slices.Equal(path, want) {
			t.Errorf("the path of %d is %q, %v, want %q", id, path, ok, want)
		}
	}
	if len(c.buckets) != 4 || len(c.lost) != 0 {
		t.Errorf("%v, %v", c.buckets, c.lost)
	}
}
