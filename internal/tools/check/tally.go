package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// tally counts what one table holds, to be compared with the manifest.
type tally struct {
	*deep
	meta *manifest.Table
	path string

	buckets []manifest.BucketShare // only if the manifest describes the table by bucket
	pointed map[uint64]total       // what it points to, by file

	bucket uint64 // that the last entry belongs to
	some   bool   // there was one
	err    error  // why the check is to end
}

// wrong adds what is wrong with the table as a whole.
func (t *tally) wrong(format string, args ...any) {
	t.found.Add(t.path, corrupt.New(t.path, 0, format, args...))
}

func (t *tally) read(bytes uint64) error { return cmp.Or(t.err, t.deep.read(bytes)) }

// entry counts an entry, and returns an error if it cannot be in a table.
func (t *tally) entry(key []byte, e keyspace.Entry) error {
	size := uint64(len(key) + len(e.Value))
	if e.Kind == keyspace.KindPointer {
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			return err
		}
		size = uint64(len(key)) + uint64(p.Length)
		t.point(p)
	}
	id, ok := keyspace.BucketOf(key)
	if !ok {
		if text := string(key); text != string(keyspace.AppendNextID(nil)) &&
			text != string(keyspace.AppendSalvage(nil)) {
			return fmt.Errorf("key %q belongs to no bucket", key)
		}
		return nil
	}
	if id != t.bucket || !t.some {
		t.bucket, t.some = id, true
		if t.catalog != nil && !t.catalog.knows(id) {
			t.wrong("the table has keys of bucket %d, which was neither created nor dropped", id)
		}
	}
	if e.Kind != keyspace.KindDelete && keyspace.IsData(key) && len(t.meta.Buckets) > 0 {
		t.addToBucket(id, size)
	}
	return nil
}

func (t *tally) addToBucket(id, size uint64) {
	if n := len(t.buckets); n == 0 || t.buckets[n-1].Bucket != id {
		t.buckets = append(t.buckets, manifest.BucketShare{Bucket: id})
	}
	share := &t.buckets[len(t.buckets)-1]
	share.Entries++
	share.Bytes += size
}

// point counts a pointer, and follows it later.
func (t *tally) point(p valuelog.Pointer) {
	n := t.pointed[p.File]
	t.pointed[p.File] = total{n.count + 1, n.bytes + uint64(p.Length)}
	t.pointers = append(t.pointers, pointer{p, t.path})
	if len(t.pointers) == maxPointers && t.err == nil {
		t.err = t.follow()
	}
}

// compareShares compares what the manifest says about the table by bucket and by value file.
func (t *tally) compareShares() {
	if err := cmp.Or(t.compareBuckets(), t.compareValues()); err != nil {
		t.partial = true
		t.wrong("%v", err)
		return
	}
	t.addLive(t.meta.Values)
}

func (t *tally) compareBuckets() error {
	want := slices.Clone(t.meta.Buckets)
	for i := range want {
		want[i].Stored, want[i].Zstd, want[i].Pattern = 0, 0, 0 // are no exact numbers
	}
	for i := range max(len(t.buckets), len(want)) {
		var got, says manifest.BucketShare
		if i < len(t.buckets) {
			got = t.buckets[i]
		}
		if i < len(want) {
			says = want[i]
		}
		if got != says {
			return fmt.Errorf("the table has %d entries of %d bytes of bucket %d, the manifest says %d "+
				"of %d of bucket %d", got.Entries, got.Bytes, got.Bucket, says.Entries, says.Bytes,
				says.Bucket)
		}
	}
	return nil
}

func (t *tally) compareValues() error {
	for _, s := range t.meta.Values {
		if got := t.pointed[s.File]; got != (total{s.Count, s.Bytes}) {
			return fmt.Errorf("the table points to %d values of %d bytes in file %06d, the manifest "+
				"says %d of %d", got.count, got.bytes, s.File, s.Count, s.Bytes)
		}
	}
	if len(t.pointed) > len(t.meta.Values) {
		return fmt.Errorf("the table points into %d value files, the manifest says %d", len(t.pointed),
			len(t.meta.Values))
	}
	return nil
}
