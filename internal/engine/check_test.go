package engine

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// bucketNamed is the catalog's key of a bucket.
func bucketNamed(parent uint64, name string) []byte {
	return append(keyspace.AppendCatalog(nil, parent), name...)
}

func number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// twoBuckets commits a catalog with the bucket 1 and the bucket 2 in it, with data in both.
func twoBuckets(t testing.TB, e *Engine) {
	t.Helper()
	for _, kv := range [][2][]byte{
		{bucketNamed(0, "one"), number(1)},
		{bucketNamed(1, "two"), number(2)},
		{keyspace.AppendNextID(nil), number(3)},
		{keyspace.AppendSequence(nil, 2), number(9)},
		{keyspace.AppendSequence(nil, 0), number(9)},
		{append(keyspace.AppendPrefix(nil, 1), 'k'), nil},
		{append(keyspace.AppendPrefix(nil, 2), 'k'), nil},
	} {
		ok(t, tryCommit(e, kv[0], kv[1]))
	}
}

func TestCheck_findsACatalogThatMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		key, value []byte
		want       string
	}{
		{nil, nil, ""},
		{bucketNamed(1, "three"), number(2), "two buckets have the id 2"},
		{bucketNamed(1, "three"), number(3), "1 to 3, though 3 comes next"},
		{bucketNamed(1, "three"), number(0), "0 to 2, though 3 comes next"},
		{bucketNamed(7, "three"), number(2), "bucket 7 has buckets or a sequence"},
		{bucketNamed(1, "two"), []byte("no number"), "is no number"},
		{keyspace.AppendSequence(nil, 9), number(1), "bucket 9 has buckets or a sequence"},
		{keyspace.AppendSequence(nil, 2), nil, "is no number"},
		{append(keyspace.AppendPrefix(nil, 5), 'k'), nil, "neither created nor dropped"},
		{keyspace.AppendDropped(nil, 1), nil, ""},
	} {
		for _, flushed := range []bool{false, true} {
			e := mustOpen(t, memfs.New(), calm())
			twoBuckets(t, e)
			if c.key != nil {
				ok(t, tryCommit(e, c.key, c.value))
			}
			if flushed {
				ok(t, e.Flush())
			}
			err := e.Check(t.Context(), true)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("key %q: found %v", c.key, err)
			case c.want != "" && (!errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("key %q: found %v, want %q", c.key, err, c.want)
			}
			ok(t, e.Close())
		}
	}
}

func TestCheck_ofADroppedBucketFindsNothing(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	twoBuckets(t, e)
	ok(t, e.Flush())
	w, err := e.Begin()
	ok(t, err)
	ok(t, errors.Join(w.Delete(bucketNamed(0, "one")),
		w.Put(keyspace.AppendDropped(nil, 1), nil, 0), w.Commit()))
	ok(t, e.Check(t.Context(), true))
	ok(t, e.Flush())
	ok(t, e.Check(t.Context(), true))
	ok(t, e.Compact(t.Context()))
	ok(t, e.Check(t.Context(), true))
	ok(t, e.Close())
}

func TestCheck_ofAPoisonedDatabaseReadsWhatThereIs(t *testing.T) {
	disk := memfs.New()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, ".log"))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a", "b")
	ok(t, e.Flush())
	mustCommit(t, e, "c")
	broken.Store(true)
	if err := tryCommit(e, dataKey("d"), nil); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("error %v, want ErrPoisoned", err)
	}
	ok(t, e.Check(t.Context(), true))
	if err := e.Close(); !errors.Is(err, ErrPoisoned) {
		t.Errorf("error %v, want ErrPoisoned", err)
	}
}

// TestCheck_asksForStrayFilesOnlyWhenNoneIsMade looks while a transaction may write tables.
func TestCheck_asksForStrayFilesOnlyWhenNoneIsMade(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a")
	name := "000000.table"
	put(t, disk, name, []byte("stray"))
	w, err := e.Begin()
	ok(t, err)
	ok(t, e.Check(t.Context(), false))
	put(t, disk, "000500.table", []byte("stray"))
	err = e.Check(t.Context(), false)
	if !errors.Is(err, corrupt.Err) || strings.Contains(err.Error(), name) {
		t.Errorf("error %v, want 000500.table and no other", err)
	}
	ok(t, disk.Remove("db/000500.table"))
	w.Rollback()
	if err := e.Check(t.Context(), false); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v, want %s", err, name)
	}
	ok(t, disk.Remove("db/"+name))
	ok(t, e.Check(t.Context(), false))
	ok(t, e.Close())
}

func TestCheck_saysThatTheManifestWasReadFromItsCopy(t *testing.T) {
	disk := closed(t, "a")
	name := named(t, disk, "MANIFEST-")[0]
	put(t, disk, name+".copy", content(t, disk, name))
	ok(t, disk.Remove("db/"+name))
	e := mustOpen(t, disk, reading())
	err := e.Check(t.Context(), true)
	if !errors.Is(err, corrupt.Err) || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("found %v, want that the manifest is missing", err)
	}
	ok(t, e.Close())
}
