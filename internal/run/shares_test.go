package run

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// described returns what should be recorded about an uncompressed table of epoch 9, from the
// contents of its file.
func described(t testing.TB, c Config, meta *manifest.Table) manifest.Table {
	t.Helper()
	f, err := c.FS.Open(filepath.Join(testDir, folder.Table.Name(meta.Number)))
	check(t, err)
	size, err := f.Size()
	check(t, err)
	entries := read(t, c.FS, meta)
	want := manifest.Table{
		Number: meta.Number, Size: uint64(size), Entries: uint64(len(entries)), DropEpoch: 9,
		Smallest: []byte(entries[0].key), Largest: []byte(entries[len(entries)-1].key),
	}
	for _, e := range entries {
		want.RawBytes += uint64(len(e.key) + len(e.value))
		if e.kind == keyspace.KindDelete {
			want.Tombstones++
		}
	}
	want.Values, want.Buckets = valueShares(entries), bucketShares(entries)
	want.StaleAt = stale(entries)
	takeStored(t, want.Buckets, meta)
	return want
}

// takeStored makes shares agree with meta about stored bytes, after checking that these fit into
// the file and that the buckets have as many.
func takeStored(t testing.TB, shares []manifest.BucketShare, meta *manifest.Table) {
	t.Helper()
	stored := uint64(0)
	for i := range min(len(shares), len(meta.Buckets)) {
		got := meta.Buckets[i]
		shares[i].Stored, shares[i].Zstd, shares[i].Pattern = got.Stored, got.Zstd, got.Pattern
		stored += got.Stored
	}
	if stored >= meta.Size || meta.Buckets != nil && stored == 0 {
		t.Errorf("table %06d of %d bytes has blocks of %d bytes", meta.Number, meta.Size, stored)
	}
}

// valueShares adds up what entries point to.
func valueShares(entries []entry) (all []manifest.ValueShare) {
	byFile := map[uint64]manifest.ValueShare{}
	for _, e := range entries {
		if e.kind == keyspace.KindPointer {
			p := e.pointer()
			share := byFile[p.File]
			byFile[p.File] = manifest.ValueShare{
				File: p.File, Count: share.Count + 1, Bytes: share.Bytes + uint64(p.Length),
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		all = append(all, byFile[file])
	}
	return all
}

// bucketShares adds up the entries of each bucket.
func bucketShares(entries []entry) (all []manifest.BucketShare) {
	byID := map[uint64]manifest.BucketShare{}
	for _, e := range entries {
		id, ok := keyspace.BucketOf([]byte(e.key))
		if ok && keyspace.IsData([]byte(e.key)) && e.kind != keyspace.KindDelete {
			share := byID[id]
			byID[id] = manifest.BucketShare{
				Bucket: id, Entries: share.Entries + 1, Bytes: share.Bytes + e.size(),
			}
		}
	}
	if len(byID) > 16 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		all = append(all, byID[id])
	}
	return all
}

// bytesGone returns how many bytes of entries have expired at a moment, and how many there are in
// all.
func bytesGone(entries []entry, at uint64) (gone, all uint64) {
	for _, e := range entries {
		all += e.size()
		if e.until != 0 && e.until <= at {
			gone += e.size()
		}
	}
	return gone, all
}

// stale returns the first moment when a quarter of the bytes has expired, or 0.
func stale(entries []entry) uint64 {
	moments := slices.Clone(entries)
	slices.SortFunc(moments, func(a, b entry) int { return cmp.Compare(a.until, b.until) })
	for _, e := range moments {
		if gone, all := bytesGone(entries, e.until); e.until != 0 && 4*gone >= all {
			return e.until
		}
	}
	return 0
}

// randomEntries returns entries of all kinds in a number of buckets. One in expire entries expires;
// none does if expire is 0.
func randomEntries(rng *rand.Rand, n, buckets, expire int) (all []entry) {
	byKey := map[string]entry{}
	for range n {
		id := uint64(rng.IntN(buckets)) * 100
		e := put(dataKey(id, fmt.Sprintf("%06d", rng.IntN(1_000_000))), fmt.Sprint(rng.Uint64()))
		switch rng.IntN(8) {
		case 0:
			e.kind, e.value = keyspace.KindDelete, ""
		case 1, 2, 3:
			p := valuelog.Pointer{File: 900 + rng.Uint64N(6), Offset: 48, Length: rng.Uint32N(3000)}
			e.kind, e.value = keyspace.KindPointer, string(p.Append(nil))
		case 4:
			e.key = catalogKey(id, e.key)
		}
		if e.kind != keyspace.KindDelete && expire > 0 && rng.IntN(expire) == 0 {
			e.until = 1 + rng.Uint64N(50)
		}
		byKey[e.key] = e
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[key])
	}
	return all
}

func TestWriter_countsSharesOfEachTable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	staleTables, fresh, many := 0, 0, 0
	for i := range 80 {
		c := config(newFS(t))
		c.DropEpoch, c.TableBytes = 9, 300+rng.Int64N(6000)
		entries := randomEntries(rng, 1+rng.IntN(150), 1+rng.IntN(40), rng.IntN(5))
		tables := writeTables(t, c, entries)
		if got := readAll(t, c.FS, tables); !slices.Equal(got, entries) {
			t.Fatalf("seed %d, run %d: %d entries come back of %d, or others", seed, i, len(got),
				len(entries))
		}
		for _, meta := range tables {
			if want := described(t, c, meta); !reflect.DeepEqual(*meta, want) {
				t.Fatalf("seed %d, run %d: table %06d is recorded as\n%+v, it is\n%+v", seed, i,
					meta.Number, *meta, want)
			}
			if meta.StaleAt > 0 {
				staleTables++
			} else {
				fresh++
			}
			if meta.Buckets == nil && meta.Entries > 2*meta.Tombstones &&
				keyspace.IsData(meta.Smallest) {
				many++
			}
		}
	}
	if staleTables < 20 || fresh < 20 || many < 10 {
		t.Errorf("seed %d: %d tables get stale, %d do not, %d have many buckets", seed, staleTables,
			fresh, many)
	}
}

func TestWriter_describesUpTo16Buckets(t *testing.T) {
	for buckets := uint64(15); buckets <= 18; buckets++ {
		var keys []string
		for id := range buckets {
			keys = append(keys, dataKey(id, "a"), dataKey(id, "b"))
		}
		c := config(newFS(t))
		c.TableBytes = 1 << 20
		meta := writeTables(t, c, puts(keys...))[0]
		want := int(buckets)
		if buckets > 16 {
			want = 0
		}
		if len(meta.Buckets) != want || (meta.Buckets == nil) != (want == 0) {
			t.Errorf("of %d buckets, these are described: %v", buckets, meta.Buckets)
		}
	}
}

func TestWriter_saysWhenAQuarterHasExpired(t *testing.T) {
	for _, c := range []struct {
		name   string
		untils []uint64 // of entries that are equally long
		want   uint64
	}{
		{"never", []uint64{0, 0, 0, 0}, 0},
		{"less than a quarter", []uint64{5, 0, 0, 0, 0}, 0},
		{"just a quarter", []uint64{0, 0, 5, 0}, 5},
		{"the second of five", []uint64{9, 7, 0, 0, 0}, 9},
		{"not the first of five", []uint64{9, 7, 3, 20, 30}, 7},
		{"all at once", []uint64{6, 6, 6, 6}, 6},
		{"alone", []uint64{8}, 8},
	} {
		var entries []entry
		for i, until := range c.untils {
			e := put(dataKey(1, fmt.Sprintf("key%d", i)), "value")
			e.until = until
			entries = append(entries, e)
		}
		if got := writeTables(t, config(newFS(t)), entries)[0].StaleAt; got != c.want {
			t.Errorf("%s: StaleAt is %d, want %d", c.name, got, c.want)
		}
	}
}

// The writer remembers only some of many entries that expire.
func TestShares_stayNearWithManyEntries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{4000, maxExpiries - 1, maxExpiries, maxExpiries + 1, 8192, 30_000} {
		var entries []entry
		for i := range n {
			e := put(dataKey(1, fmt.Sprintf("%06d", i)), "0123456789"[:rng.IntN(10)])
			if e.until = 1 + rng.Uint64N(1_000_000); rng.IntN(4) == 0 {
				e.until = 0
			}
			entries = append(entries, e)
		}
		s := sharesOf(t, entries)
		gone, all := bytesGone(entries, s.staleAt())
		if share := float64(gone) / float64(all); share < 0.2 || share > 0.3 {
			t.Errorf("seed %d: of %d entries, %.3f are gone when it is a quarter", seed, n, share)
		}
		if len(s.expiries) >= maxExpiries {
			t.Errorf("seed %d: %d moments are kept", seed, len(s.expiries))
		}
		for i := range entries {
			if i%6 > 0 {
				entries[i].until = 0
			}
		}
		if at := sharesOf(t, entries).staleAt(); at != 0 {
			t.Errorf("seed %d: %d entries are stale at %d, though a sixth expires", seed, n, at)
		}
	}
}

// sharesOf returns the shares of a table with these entries.
func sharesOf(t testing.TB, entries []entry) *shares {
	t.Helper()
	var s shares
	for _, e := range entries {
		check(t, s.add([]byte(e.key), keyspace.Entry{
			Value: []byte(e.value), Until: e.until, Kind: e.kind,
		}, table.Stored{}))
	}
	return &s
}
