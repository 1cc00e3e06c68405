package check

import (
	"cmp"
	"fmt"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// tally counts what one table holds, to compare it with the manifest.
type tally struct {
	*Check
	meta *manifest.Table
	path string

	buckets []manifest.BucketShare // if the manifest describes the table by bucket
	pointed map[uint64]total       // what it points to, by file

	bucket uint64 // of the last entry
	some   bool   // there was one
	err    error  // why the check must end
}

func (t *tally) wrong(format string, args ...any) {
	t.found.Add(t.path, corrupt.New(t.path, 0, format, args...))
}

func (t *tally) read(bytes uint64) error { return cmp.Or(t.err, t.Check.read(bytes)) }

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
		t.spans.add(t.path, id)
	}
	if e.Kind != keyspace.KindDelete && keyspace.IsData(key) && len(t.meta.Buckets) > 0 {
		if n := len(t.buckets); n == 0 || t.buckets[n-1].Bucket != id {
			t.buckets = append(t.buckets, manifest.BucketShare{Bucket: id})
		}
		share := &t.buckets[len(t.buckets)-1]
		share.Entries++
		share.Bytes += size
	}
	return nil
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

// compareShares compares the table with what the manifest says by bucket and by value file.
func (t *tally) compareShares() {
	if err := cmp.Or(t.compareBuckets(), t.compareValues()); err != nil {
		t.partial = true
		t.wrong("%v", err)
		return
	}
	for _, s := range t.meta.Values {
		all := t.live[s.File]
		t.live[s.File] = total{all.count + s.Count, all.bytes + s.Bytes}
	}
}

func (t *tally) compareBuckets() error {
	for i := range max(len(t.buckets), len(t.meta.Buckets)) {
		var got, says manifest.BucketShare
		if i < len(t.buckets) {
			got = t.buckets[i]
		}
		if i < len(t.meta.Buckets) {
			says = t.meta.Buckets[i]
		}
		says.Stored, says.Zstd, says.Pattern = 0, 0, 0 // are estimates
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
