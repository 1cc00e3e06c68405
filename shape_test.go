package stoat_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// sumOf returns what a shape adds up to, in the fields of Stats that it can say.
func sumOf(s stoat.Shape) (all stoat.Stats) {
	all.YoungRuns = len(s.Young)
	for _, r := range append(slices.Clone(s.Young), s.Bottom) {
		live := uint64(0)
		for _, t := range r.Tables {
			all.Tables++
			all.TableBytes += t.Bytes
			all.RawBytes += t.RawBytes
			all.Entries += t.Entries
			all.Tombstones += t.Tombstones
			all.ValueBytes += t.ValueBytes
			live += t.Bytes + t.ValueBytes
		}
		all.LiveBytes = max(all.LiveBytes, live)
	}
	for _, f := range s.ValueFiles {
		all.ValueFiles++
		all.ValueFileBytes += f.Bytes
	}
	for _, m := range s.Memtables {
		all.Entries += uint64(m.Entries)
		all.MemtableBytes += m.Bytes
	}
	return all
}

// files returns the fields of sumOf that say what is in files.
func files(s stoat.Stats) stoat.Stats {
	return stoat.Stats{
		YoungRuns: s.YoungRuns, Tables: s.Tables, TableBytes: s.TableBytes, RawBytes: s.RawBytes,
		Tombstones: s.Tombstones, ValueBytes: s.ValueBytes, LiveBytes: s.LiveBytes,
		ValueFiles: s.ValueFiles, ValueFileBytes: s.ValueFileBytes,
	}
}

// inMemory returns files, and the fields of sumOf that memtables change.
func inMemory(s stoat.Stats) stoat.Stats {
	all := files(s)
	all.Entries, all.MemtableBytes = s.Entries, s.MemtableBytes
	return all
}

// byPlace orders places as entries are.
func byPlace(a, b stoat.Place) int {
	space := func(p stoat.Place) int {
		if p.Catalog {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(space(a), space(b)), cmp.Compare(a.Bucket, b.Bucket),
		bytes.Compare(a.Key, b.Key))
}

// wantSound wants the parts of a shape to fit each other.
func wantSound(t testing.TB, s stoat.Shape) {
	t.Helper()
	if len(s.Memtables) == 0 {
		t.Error("nothing takes what is written")
	}
	known := map[uint64]bool{}
	values := map[uint64]bool{}
	for _, f := range s.ValueFiles {
		if values[f.Number] = true; f.Live > f.Bytes {
			t.Errorf("more is live than there is: %+v", f)
		}
	}
	for _, r := range append(slices.Clone(s.Young), s.Bottom) {
		for i, table := range r.Tables {
			if known[table.Number] || values[table.Number] {
				t.Errorf("there are two files %d", table.Number)
			}
			known[table.Number] = true
			if !table.Last.Catalog && byPlace(table.First, table.Last) > 0 {
				t.Errorf("a table ends before it begins: %+v", table)
			}
			if i > 0 && !table.First.Catalog &&
				byPlace(r.Tables[i-1].Last, table.First) >= 0 {
				t.Errorf("%+v comes before %+v", r.Tables[i-1], table)
			}
		}
	}
	for _, j := range s.Jobs {
		for _, number := range j.Tables {
			if !known[number] {
				t.Errorf("a job reads table %d, which is not there: %+v", number, j)
			}
		}
	}
}

func TestShape_addsUpToStatsWhileItChanges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rounds, all := 60, tuned.Sizes()
	if testing.Short() {
		rounds, all = 25, all[1:3]
	}
	for i, sizes := range all {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			opts := &stoat.Options{ValueThreshold: 300}
			fs := memfs.New()
			db, err := tuned.Open(fs, "db", opts, sizes)
			ok(t, err)
			var writers sync.WaitGroup
			var left atomic.Int32
			left.Store(2)
			for w := range 2 {
				writers.Go(func() {
					defer left.Add(-1)
					writeAnything(t, db, rand.New(rand.NewPCG(seed, uint64(w))), rounds)
				})
			}
			for left.Load() > 0 {
				before, shape, after := db.Stats(), db.Shape(), db.Stats()
				wantSound(t, shape)
				if files(before) == files(after) {
					got, want := files(sumOf(shape)), files(after)
					if got.LiveBytes < want.LiveBytes { // a front counts as part of the bottom run
						got.LiveBytes = want.LiveBytes
					}
					equal(t, got, want)
				}
			}
			writers.Wait()
			ok(t, db.Close())
			sizes.RestAfter = time.Hour // so that what is put last stays in memory
			db, err = tuned.Open(fs, "db", opts, sizes)
			ok(t, err)
			ok(t, db.Compact(context.Background()))
			ok(t, db.Put([]byte("in memory"), nil))
			equal(t, inMemory(sumOf(db.Shape())), inMemory(db.Stats()))
			equal(t, db.Shape().Memtables[0].Entries > 0, true)
			ok(t, db.Close())
			wantSound(t, db.Shape())
			equal(t, inMemory(sumOf(db.Shape())), inMemory(db.Stats()))
			equal(t, len(db.Shape().Jobs), 0)
		})
	}
}

// writeAnything writes into buckets, and drops and flushes now and then, rounds times.
func writeAnything(t testing.TB, db *stoat.DB, rng *rand.Rand, rounds int) {
	for range rounds {
		err := db.Update(func(tx *stoat.Tx) error {
			name := fmt.Append(nil, rng.IntN(5))
			if rng.IntN(20) == 0 {
				if err := tx.DeleteBucket(name); !errors.Is(err, stoat.ErrBucketNotFound) {
					return err
				}
			}
			b, err := tx.CreateBucketIfNotExists(name)
			for range rng.IntN(20) {
				key := fmt.Append(nil, rng.IntN(1000))
				value := make([]byte, rng.IntN(1000))
				for i := range value {
					value[i] = byte(rng.Uint32())
				}
				if err == nil {
					err = b.Put(key, value)
				}
			}
			if err == nil && rng.IntN(10) == 0 {
				err = b.DeleteRange(stoat.Prefix([]byte("3")))
			}
			return err
		})
		if err == nil && rng.IntN(20) == 0 {
			err = db.Flush()
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func TestShape_showsTheJobsThatRun(t *testing.T) {
	var db *stoat.DB
	var during []stoat.JobInfo
	var fails atomic.Bool
	errWrite := errors.New("no more")
	fs := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind != faultfs.Sync || !strings.HasSuffix(op.Name, ".table") {
			return nil
		}
		shape := db.Shape()
		wantSound(t, shape)
		during = append(during, shape.Jobs...)
		if fails.Load() {
			return errWrite
		}
		return nil
	})
	db = openOn(t, fs, &stoat.Options{ValueThreshold: 1 << 20})
	defer func() { ok(t, db.Close()) }()
	for range 2 {
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "z") })
		ok(t, db.Flush())
	}
	equal(t, len(during), 2)
	for _, j := range during {
		if j.Reason != "" || len(j.Tables) > 0 || j.Bytes == 0 || j.Written == 0 || j.Began.IsZero() {
			t.Errorf("a flush: %+v", j)
		}
	}
	before := db.Shape()
	equal(t, len(before.Jobs), 0)
	during = nil
	fails.Store(true)
	wantErr(t, db.Compact(context.Background()), errWrite)
	equal(t, len(db.Shape().Jobs), 0)
	fails.Store(false)
	ok(t, db.Compact(context.Background()))
	equal(t, len(during), 2)
	var inputs []uint64
	for _, r := range append(slices.Clone(before.Young), before.Bottom) {
		for _, table := range r.Tables {
			inputs = append(inputs, table.Number)
		}
	}
	for _, j := range during {
		if j.Reason == "" || !j.ToBottom || j.Bytes == 0 || j.Written == 0 ||
			!slices.Equal(j.Tables, inputs) {
			t.Errorf("a compaction of %v: %+v", inputs, j)
		}
	}
	equal(t, len(db.Shape().Jobs), 0)
}

func TestShape_namesBucketsAndKeys(t *testing.T) {
	db := openOn(t, memfs.New(), &stoat.Options{Compression: stoat.CompressionNone})
	var outer, inner uint64
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "outer")
		in := create(t, b, "inner")
		outer, inner = b.ID(), in.ID()
		put(t, b, "c", "d")
		put(t, in, "a", "\xff\x00")
		put(t, tx, "root", "x")
	})
	ok(t, db.Flush())
	ok(t, db.Compact(context.Background()))
	tables := db.Shape().Bottom.Tables
	equal(t, len(tables), 2)
	equal(t, byPlace(tables[0].First, stoat.Place{Catalog: true, Key: []byte("outer")}), 0)
	equal(t, tables[0].Last.Catalog, true)
	equal(t, byPlace(tables[1].First, stoat.Place{Key: []byte("root")}), 0)
	equal(t, byPlace(tables[1].Last, stoat.Place{Bucket: inner, Key: []byte("\xff\x00")}), 0)
	equal(t, outer != 0 && inner != 0 && outer != inner, true)

	update(t, db, func(tx *stoat.Tx) {
		ok(t, bucket(t, tx, "outer").DeleteBucket([]byte("inner")))
		equal(t, create(t, tx, "inner").ID() > inner, true)
		equal(t, bucket(t, tx, "outer").ID(), outer)
	})
	ok(t, db.Close())
}

func TestShape_readsNoFile(t *testing.T) {
	disk := memfs.New()
	db := openOn(t, disk, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "b"), "a", "b") })
	ok(t, db.Close())
	var looking atomic.Bool
	fs := faultfs.New(disk, func(op faultfs.Op) error {
		if looking.Load() {
			t.Errorf("%s of %s", op.Kind, op.Name)
		}
		return nil
	})
	db, err := tuned.Open(fs, "db", &stoat.Options{ReadOnly: true}, engine.Tuning{})
	ok(t, err)
	looking.Store(true)
	equal(t, len(db.Shape().Bottom.Tables) > 0, true)
	looking.Store(false)
	ok(t, db.Close())
}

func BenchmarkShape(b *testing.B) {
	db, err := tuned.Open(memfs.New(), "db", nil, engine.Tuning{TableBytes: 1 << 10})
	ok(b, err)
	update(b, db, func(tx *stoat.Tx) {
		for i := range 200_000 {
			ok(b, tx.Put(benchKey(i), fmt.Append(nil, rand.Uint64())))
		}
	})
	ok(b, db.Flush())
	for b.Loop() {
		db.Shape()
	}
	b.ReportMetric(float64(db.Stats().Tables), "tables")
	ok(b, db.Close())
}
