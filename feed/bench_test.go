package feed_test

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

const benchEntries = 100_000

// filled returns a feed with entries, 1 of 100 of which is alice's.
func filled(b *testing.B) (*stoat.DB, *feed.Feed[post]) {
	db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
	ok(b, err)
	b.Cleanup(func() { ok(b, db.Close()) })
	f := open(b, db, &feed.Options[post]{Sublogs: sublogs()})
	for range benchEntries / 1000 {
		update(b, db, func(tx *stoat.Tx) {
			for i := range 1000 {
				p := post{Author: "bob", Text: fmt.Sprint("some text of a certain length ", i)}
				if i%100 == 0 {
					p.Author = "alice"
				}
				_, err := f.Append(tx, &p)
				ok(b, err)
			}
		})
	}
	ok(b, db.Flush())
	return db, f
}

func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
			ok(b, err)
			f := open(b, db, &feed.Options[post]{Sublogs: sublogs()})
			p := post{Author: "alice", Text: "some text of a certain length"}
			b.ReportAllocs()
			for n := 0; n < b.N; n += batch {
				update(b, db, func(tx *stoat.Tx) {
					for range batch {
						_, err := f.Append(tx, &p)
						ok(b, err)
					}
				})
			}
			ok(b, db.Close())
		})
	}
}

// BenchmarkScan reads all entries; "root" is the loop below it, without decoding.
func BenchmarkScan(b *testing.B) {
	db, f := filled(b)
	perEntry := func(b *testing.B, n int) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
	}
	b.Run("root", func(b *testing.B) {
		for b.Loop() {
			view(b, db, func(tx *stoat.Tx) {
				bucket, err := tx.Bucket([]byte("feed"))
				ok(b, err)
				bucket, err = bucket.Bucket([]byte("entries"))
				ok(b, err)
				for range bucket.Scan(stoat.Range{}) {
				}
			})
		}
		perEntry(b, benchEntries)
	})
	queries := map[string]feed.Query[post]{
		"all":   f.Query(),
		"alice": f.Query().Where(feed.In("author", "alice")),
		"bob":   f.Query().Where(feed.In("author", "bob")),
	}
	for name, q := range queries {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				view(b, db, func(tx *stoat.Tx) {
					n = 0
					for range q.All(tx) {
						n++
					}
				})
			}
			perEntry(b, n)
		})
	}
	b.Run("newest 10", func(b *testing.B) {
		for b.Loop() {
			view(b, db, func(tx *stoat.Tx) {
				for range queries["alice"].Reverse().Limit(10).All(tx) {
				}
			})
		}
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			view(b, db, func(tx *stoat.Tx) {
				_, err := queries["bob"].Count(tx)
				ok(b, err)
			})
		}
	})
}

// BenchmarkScanBytes is the loop without the decoding of structs.
func BenchmarkScanBytes(b *testing.B) {
	db := memory(b)
	f := open[[]byte](b, db, nil)
	update(b, db, func(tx *stoat.Tx) {
		value := make([]byte, 50)
		for range benchEntries {
			_, err := f.Append(tx, &value)
			ok(b, err)
		}
	})
	ok(b, db.Flush())
	b.ReportAllocs()
	for b.Loop() {
		view(b, db, func(tx *stoat.Tx) {
			for range f.Query().All(tx) {
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
}
