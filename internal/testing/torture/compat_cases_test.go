package torture

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// compatCase is a database in testdata/compat, as one version of Stoat wrote it.
type compatCase struct {
	name    string
	options stoat.Options
	tuning  engine.Tuning
	// build fills the database. If open is set, the files are kept as build leaves them; otherwise the
	// database is closed first.
	build func(t testing.TB, db *stoat.DB)
	open  bool
	later time.Duration // until entries have expired
	has   []string      // part of what dump-file prints
}

// compatTime is the time at which the databases are written and read.
func compatTime() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// still prevents all background work.
func still() engine.Tuning {
	return engine.Tuning{
		BlockBytes: 512, TableBytes: 4 << 10, ValueBytes: 4 << 10, SampleBytes: 8 << 10,
		YoungRuns: 1000, IdleAfter: time.Hour, RestAfter: time.Hour,
	}
}

// compatCases returns the databases that the current version writes.
func compatCases() []compatCase {
	return []compatCase{
		{
			name: "plain", options: stoat.Options{Compression: stoat.CompressionNone}, tuning: still(),
			build: compatPlain, has: []string{"codec raw", "bottom run"},
		},
		{
			name: "buckets", tuning: still(), build: compatBuckets,
			has: []string{`put  bucket "orders" in bucket 1`, "put  sequence of bucket", "next bucket id"},
		},
		{
			name: "values-in-log", options: stoat.Options{ValueThreshold: 512}, tuning: still(),
			build: compatValues, open: true,
			has: []string{"points into  file", "pointer  ", ", log segment"},
		},
		{
			name: "values-in-files", options: stoat.Options{ValueThreshold: 512}, tuning: still(),
			build: func(t testing.TB, db *stoat.DB) {
				compatValues(t, db)
				ok(t, db.Compact(context.Background()))
			},
			has: []string{"points into  file", "pointer  ", "\n        48  values  "},
		},
		{
			name: "zstd", options: stoat.Options{Compression: stoat.CompressionZstd}, tuning: still(),
			build: compatText, has: []string{"codec zstd", ", compressed"},
		},
		{
			name: "pattern", tuning: still(), build: compatEvents,
			has: []string{"codec pattern", "needs  dictionary", "dictionary  "},
		},
		{
			name: "young-runs", tuning: still(), build: compatYoungRuns, open: true,
			has: []string{"adds young run", "range deletion  from", "filter  ", "delete  "},
		},
		{
			name: "expiry", tuning: still(), build: compatExpiry, later: time.Hour,
			has: []string{", until 2026-01-01T00:30:00Z", ", until 2026-01-02T00:00:00Z"},
		},
		{
			name: "log", tuning: still(), build: compatLog, open: true,
			has: []string{"frame  kind whole", "delete range  from", "drop of bucket 2", "until 2026"},
		},
		{
			name: "log-of-frames", options: stoat.Options{Sync: stoat.SyncNever}, tuning: still(),
			build: compatFrames, open: true,
			has: []string{"frame  kind first", "frame  kind middle", "frame  kind last"},
		},
		{
			name: "dropped", tuning: still(), build: compatDropped, open: true,
			has: []string{"drops  bucket 1", "drops  bucket 2"},
		},
	}
}

func compatPlain(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		for i := range 60 {
			ok(t, tx.Put(fmt.Appendf(nil, "key-%03d", i*i), fmt.Appendf(nil, "value %d", i)))
		}
		ok(t, tx.Put([]byte{0}, nil))
		ok(t, tx.Put([]byte{0xFF, 0xFF, 0}, []byte{0, 0xFF}))
		ok(t, tx.Put(bytes.Repeat([]byte("long"), 100), []byte("of a long key")))
	})
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.Delete([]byte("key-009"))) })
}

func compatBuckets(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		users := create(t, tx, "users")
		put(t, users, "ann", "bob", "cyd")
		ok(t, users.SetSequence(300))
		orders := create(t, users, "orders")
		put(t, orders, "1", "2", "3")
		_, err := orders.NextSequence()
		ok(t, err)
		create(t, create(t, orders, "\x00\xff"), "empty")
		put(t, create(t, tx, "zoo"), "ant")
		put(t, tx, "root")
		ok(t, tx.SetSequence(1<<40))
	})
	for i := range 300 { // ids need two bytes
		update(t, db, func(tx *stoat.Tx) {
			b := create(t, tx, fmt.Sprintf("many-%03d", i))
			if i%100 == 99 {
				put(t, b, "in a bucket with a high id")
			}
		})
	}
	update(t, db, func(tx *stoat.Tx) {
		for i := range 290 {
			ok(t, tx.DeleteBucket(fmt.Appendf(nil, "many-%03d", i)))
		}
	})
}

// compatBytes returns n incompressible bytes, always the same.
func compatBytes(seed, n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func compatValues(t testing.TB, db *stoat.DB) {
	for i := range 8 {
		update(t, db, func(tx *stoat.Tx) {
			ok(t, tx.Put(fmt.Appendf(nil, "large-%d", i), compatBytes(i, 511+i)))
			ok(t, tx.Put(fmt.Appendf(nil, "small-%d", i), []byte("small")))
		})
		if i == 3 {
			ok(t, db.Flush())
		}
	}
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.Delete([]byte("large-2"))) })
	ok(t, db.Flush())
}

func compatText(t testing.TB, db *stoat.DB) {
	words := strings.Fields("a stoat is small and quick and hunts what is larger than a stoat is")
	update(t, db, func(tx *stoat.Tx) {
		for i := range 40 {
			text := fmt.Sprintf("%s, number %d, %s", strings.Join(words[i%7:], " "), i,
				strings.Join(words[:9+i%5], " "))
			ok(t, tx.Put(fmt.Appendf(nil, "text-%02d", i), []byte(text)))
		}
	})
	ok(t, db.Compact(context.Background()))
}

func compatEvents(t testing.TB, db *stoat.DB) {
	rng := rand.New(rand.NewPCG(7, 7))
	update(t, db, func(tx *stoat.Tx) {
		log := create(t, tx, "log")
		for i := range 300 {
			event := fmt.Sprintf(`{"id":"%08x","kind":"login","user":%d,"at":"2026-01-%02dT%02d:00:00Z"}`,
				rng.Uint32(), rng.IntN(5000), 1+i/24, i%24)
			ok(t, log.Put(fmt.Appendf(nil, "%06d", i), []byte(event)))
		}
	})
	ok(t, db.Compact(context.Background()))
}

func compatYoungRuns(t testing.TB, db *stoat.DB) {
	for i := range 3 {
		update(t, db, func(tx *stoat.Tx) {
			for j := range 30 {
				ok(t, tx.Put(fmt.Appendf(nil, "key-%02d", j), fmt.Appendf(nil, "run %d", i)))
			}
			from, to := fmt.Appendf(nil, "key-%d5", i), fmt.Appendf(nil, "key-%d8", i)
			ok(t, tx.DeleteRange(stoat.Range{Start: from, End: to}))
			ok(t, tx.Delete(fmt.Appendf(nil, "key-%02d", i)))
		})
		ok(t, db.Flush())
	}
}

func compatExpiry(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "for ever")
		ok(t, tx.PutTTL([]byte("half an hour"), []byte("soon"), 30*time.Minute))
		ok(t, tx.PutTTL([]byte("a day"), []byte("later"), 24*time.Hour))
		ok(t, create(t, tx, "b").PutTTL([]byte("half an hour"), []byte("b"), 30*time.Minute))
	})
}

func compatLog(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		put(t, create(t, tx, "kept"), "a", "b", "c")
		put(t, create(t, tx, "dropped"), "a", "b", "c")
		put(t, tx, "x", "y", "z")
	})
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.DeleteBucket([]byte("dropped")))
		ok(t, tx.DeleteRange(stoat.Range{Start: []byte("y"), End: []byte("z")}))
		ok(t, bucket(t, tx, "kept").Delete([]byte("b")))
		ok(t, tx.PutTTL([]byte("day"), []byte("later"), 24*time.Hour))
		_, err := tx.NextSequence()
		ok(t, err)
	})
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.Put([]byte("large"), compatBytes(1, 5000))) })
}

// compatFrames makes a commit of several frames, too large for one chunk of memory.
func compatFrames(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		for i := range 90 {
			ok(t, tx.Put(fmt.Appendf(nil, "key-%02d", i), bytes.Repeat([]byte{byte(' ' + i)}, 800)))
		}
	})
}

func compatDropped(t testing.TB, db *stoat.DB) {
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "dropped")
		put(t, b, "a", "b", "c")
		put(t, create(t, b, "child"), "d", "e")
		put(t, create(t, tx, "kept"), "f")
	})
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.DeleteBucket([]byte("dropped")))
		put(t, create(t, tx, "dropped"), "anew")
	})
	ok(t, db.Flush())
}

// files writes the database in memory and returns its files, without the zeros at the ends of logs.
func (c compatCase) files(t testing.TB) map[string][]byte {
	t.Helper()
	disk := memfs.New()
	c.tuning.Now = compatTime
	db, err := tuned.Open(disk, "db", &c.options, c.tuning)
	ok(t, err)
	c.build(t, db)
	if !c.open {
		ok(t, db.Close())
		return compatFiles(t, disk)
	}
	ok(t, db.Check(t.Context())) // which waits until the last flush has removed its log
	all := compatFiles(t, disk)
	ok(t, db.Close())
	return all
}

func compatFiles(t testing.TB, disk vfs.FS) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	names, err := disk.List("db")
	ok(t, err)
	for _, name := range names {
		f, err := disk.Open("db/" + name)
		ok(t, err)
		size, err := f.Size()
		ok(t, err)
		data := make([]byte, size)
		if size > 0 {
			_, err = f.ReadAt(data, 0)
			ok(t, err)
		}
		ok(t, f.Close())
		if strings.HasSuffix(name, ".log") {
			data = bytes.TrimRight(data, "\x00")
		}
		all[name] = data
	}
	return all
}
