package superversion

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// bucketLayer returns a layer that writes to buckets with ids below n, and to the first of them
// much more.
func (d *disk) bucketLayer(rng *rand.Rand, n uint64) *layer {
	l := newLayer()
	for range 400 {
		id := rng.Uint64N(n)
		if rng.IntN(2) == 0 {
			id = 0
		}
		key := fmt.Sprintf("%s%d", keyspace.AppendPrefix(nil, id), rng.IntN(100))
		switch rng.IntN(20) {
		case 0:
			l.delete(key)
		case 1:
			l.put(key, strings.Repeat("large", separate), d.now-1) // which has expired
		case 2:
			l.deleteRange(key, key+"~")
		default:
			l.put(key, fmt.Sprint(rng.Uint32()), 0)
		}
	}
	return l
}

// sizes returns what Measure is to return of a bucket in these layers.
func sizes(id uint64, layers ...*layer) (entries, bytes uint64) {
	prefix := string(keyspace.AppendPrefix(nil, id))
	for _, l := range layers {
		for key, e := range l.written {
			if user, ok := strings.CutPrefix(key, prefix); ok && e.Kind != keyspace.KindDelete {
				entries++
				bytes += uint64(len(user) + len(e.Value))
			}
		}
	}
	return entries, bytes
}

func TestMeasure_addsUpWhatThereIsOfABucket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	described, undescribed := 0, 0
	for _, buckets := range []uint64{1, 3, 70_000, 30, 300} {
		d := newDisk(t)
		var layers []*layer
		version := &manifest.Version{}
		for i := range 4 {
			l := d.bucketLayer(rng, buckets)
			layers = append(layers, l)
			if i == 0 {
				version.Bottom, version.ValueFiles = d.run(l, false)
				continue
			}
			young, files := d.run(l, true)
			version.Young = append([]manifest.Run{young}, version.Young...)
			version.ValueFiles = append(version.ValueFiles, files...)
		}
		for table := range version.Tables() {
			if len(table.Buckets) > 0 {
				described++
			} else {
				undescribed++
			}
		}
		s := &Superversion{Levels: NewLevels(version, nil, d.opener())}
		sealed, mem := d.bucketLayer(rng, buckets), d.bucketLayer(rng, buckets)
		s.Sealed = append(s.Sealed, sealed.edit.Commit())
		s.Mem = mem.edit.Root()
		layers = append(layers, sealed, mem)
		for id := range min(buckets+1, 400) {
			wantEntries, wantBytes := sizes(id, layers...)
			got, err := s.Measure(id)
			entries, bytes := got.Entries, got.Bytes
			if err != nil || entries != wantEntries || bytes != wantBytes {
				t.Fatalf("bucket %d of %d: %d entries, %d bytes, %v; want %d, %d",
					id, buckets, entries, bytes, err, wantEntries, wantBytes)
			}
		}
	}
	if described == 0 || undescribed == 0 {
		t.Errorf("%d tables are described by bucket, %d are not", described, undescribed)
	}
}

func TestMeasure_readsNoTableThatIsDescribed(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for i := range 500 {
		key := fmt.Appendf(keyspace.AppendPrefix(nil, uint64(i%2)), "%03d", i)
		l.put(string(key), strings.Repeat("v", i), 0)
	}
	s := d.only(l)
	for table := range s.Levels.Version.Tables() {
		if err := d.files.Remove(filepath.Join(".", folder.Table.Name(table.Number))); err != nil {
			t.Fatal(err)
		}
	}
	want, wantBytes := sizes(1, l)
	got, err := s.Measure(1)
	entries, bytes := got.Entries, got.Bytes
	if err != nil || entries != want || bytes != wantBytes {
		t.Errorf("%d entries, %d bytes, %v; want %d, %d", entries, bytes, err, want, wantBytes)
	}
}

func TestMeasure_reportsATableThatCannotBeRead(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for id := range uint64(300) {
		l.put(string(keyspace.AppendPrefix(nil, id))+"key", "", 0)
	}
	s := d.only(l)
	for _, table := range s.Levels.Version.Bottom.Tables {
		table.Buckets = nil
		if err := d.files.Remove(filepath.Join(".", folder.Table.Name(table.Number))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Measure(7); err == nil {
		t.Error("nothing is said about files that are gone")
	}
}

func TestMeasure_needsNoValueFile(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for id := range uint64(300) {
		l.put(string(keyspace.AppendPrefix(nil, id))+"key", strings.Repeat("elsewhere", 9), 0)
	}
	s := d.only(l)
	for _, table := range s.Levels.Version.Bottom.Tables {
		table.Buckets = nil
	}
	for _, f := range s.Levels.Version.ValueFiles {
		if err := d.files.Remove(filepath.Join(".", folder.Values.Name(f.Number))); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := s.Measure(7); m.Entries != 1 || m.Bytes != 3+9*9 || err != nil {
		t.Errorf("%+v, %v", m, err)
	}
}
