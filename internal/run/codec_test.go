package run

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
)

// choosing returns a configuration whose writers choose codecs by small samples.
func choosing(files vfs.Files) Config {
	c := config(files)
	c.TableBytes, c.BlockBytes, c.Compress, c.Patterns, c.SampleBytes = 1<<20, 2000, true, true, 16<<10
	return c
}

// event returns a value with much in common with others of its kind, and some random bytes.
func event(kind string, rng *rand.Rand) string {
	var id [24]byte
	for i := range id {
		id[i] = byte(rng.Uint32())
	}
	return fmt.Sprintf(`{"kind":%q,"id":%q,"count":%d,"at":%d}`, kind,
		base64.StdEncoding.EncodeToString(id[:]), rng.IntN(1000), rng.Uint64())
}

func noise(n int, rng *rand.Rand) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return string(p)
}

// bucketOf returns entries of a bucket with about so many bytes of values.
func bucketOf(id uint64, bytes int, value func() string) (all []entry) {
	for i := 0; bytes > 0; i++ {
		e := put(dataKey(id, fmt.Sprintf("%06d", i)), value())
		bytes -= len(e.value)
		all = append(all, e)
	}
	return all
}

func testRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// known returns the dictionaries of an output, as a later job gets them.
func known(o Output) (all []*block.Dictionary) {
	for _, d := range o.Dictionaries {
		all = append(all, block.NewDictionary(d.Number, d.Bucket, d.Fit, d.Data))
	}
	return all
}

// shareOf returns what a table holds of a bucket.
func shareOf(t testing.TB, tables []*manifest.Table, id uint64) manifest.BucketShare {
	t.Helper()
	for _, meta := range tables {
		for _, s := range meta.Buckets {
			if s.Bucket == id {
				return s
			}
		}
	}
	t.Fatalf("no table has the bucket %d", id)
	return manifest.BucketShare{}
}

// decodedAll returns what the tables of an output hold, decoded.
func decodedAll(t testing.TB, files vfs.Files, o Output) (all []entry) {
	t.Helper()
	for _, meta := range o.Tables {
		var c table.Cursor
		c.Init(openWith(files, meta, known(o)), &table.Scope{Read: table.ReadValues})
		for ok := c.First(); ok; ok = c.Next() {
			all = append(all, entry{c.Kind(), string(c.Key()), string(c.Value()), c.Until()})
		}
		check(t, c.Err())
	}
	return all
}

func TestWriter_choosesAnEncodingForEachBucket(t *testing.T) {
	rng := testRand()
	n, last := 0, ""
	repeated := func() string { // what is not known beforehand, and then ten times
		if n++; n%10 == 1 {
			last = noise(300, rng)
		}
		return last
	}
	entries := slices.Concat(
		puts(catalogKey(0, "name"), sequenceKey(3)),
		bucketOf(1, 40<<10, func() string { return event("login", rng) }),
		bucketOf(2, 40<<10, func() string { return noise(300, rng) }),
		bucketOf(3, 150, func() string { return event("tiny", rng) }),
		bucketOf(4, 40<<10, repeated),
		bucketOf(5, 60<<10, func() string { return event("logout", rng) }),
	)
	files := newFS(t)
	o := write(t, choosing(files), entries)
	if got := decodedAll(t, files, o); !slices.Equal(got, entries) {
		t.Fatal("what is read is not what was written")
	}
	var buckets []uint64
	for _, d := range o.Dictionaries {
		buckets = append(buckets, d.Bucket)
	}
	if want := []uint64{1, 5}; !slices.Equal(buckets, want) {
		t.Errorf("there are dictionaries for the buckets %v, want %v", buckets, want)
	}
	for id, want := range map[uint64]block.Codec{
		1: block.Pattern, 2: block.Raw, 4: block.Zstd, 5: block.Pattern,
	} {
		s, got := shareOf(t, o.Tables, id), block.Raw
		switch most := s.Bytes * 3 / 4; {
		case s.Pattern > most:
			got = block.Pattern
		case s.Zstd > most:
			got = block.Zstd
		case s.Pattern+s.Zstd > 0:
			t.Errorf("bucket %d is stored in different ways: %+v", id, s)
		}
		if got != want || got != block.Raw && s.Stored > s.Bytes*3/4 {
			t.Errorf("bucket %d is stored as %v, want %v: %+v", id, got, want, s)
		}
	}
}

func TestWriter_copiesWhatIsEncodedAsItShouldBe(t *testing.T) {
	rng, files := testRand(), newFS(t)
	entries := bucketOf(1, 90<<10, func() string { return event("login", rng) })
	first := write(t, choosing(files), entries)

	c := choosing(files)
	c.Dictionaries = known(first)
	number := uint64(100)
	c.NextNumber = func() uint64 { number++; return number }
	w := NewWriter(c)
	var cursor table.Cursor
	cursor.Init(openWith(files, first.Tables[0], c.Dictionaries), &table.Scope{Read: table.ReadStored})
	encoded := 0
	for ok := cursor.First(); ok; ok = cursor.Next() {
		check(t, cursor.Load())
		e := cursor.Entry()
		if e.Dictionary != 0 {
			encoded++
		}
		check(t, w.Add(cursor.Key(), e))
	}
	second, err := w.Finish()
	check(t, err)
	if encoded != len(entries) || number != 101 {
		t.Errorf("%d of %d entries were encoded, and %d files or dictionaries were made", encoded,
			len(entries), number-100)
	}
	if got := decodedAll(t, files, second); !slices.Equal(got, entries) {
		t.Error("what is read is not what was written")
	}
	if a, b := first.Tables[0], second.Tables[0]; a.Size != b.Size || a.RawBytes != b.RawBytes ||
		!slices.Equal(a.Buckets, b.Buckets) {
		t.Errorf("the table has %d bytes and %+v, and had %d and %+v", b.Size, b.Buckets, a.Size,
			a.Buckets)
	}
}

func TestWriter_replacesADictionaryThatNoLongerFits(t *testing.T) {
	rng, files := testRand(), newFS(t)
	old := write(t, choosing(files), bucketOf(1, 60<<10, func() string { return event("login", rng) }))
	kinds := map[string]string{"other values": "a kind that is new", "the same": "login"}
	for name, kind := range kinds {
		c := choosing(files)
		c.Dictionaries = known(old)
		number := uint64(1000 + len(name))
		c.NextNumber = func() uint64 { number++; return number }
		o := write(t, c, bucketOf(1, 60<<10, func() string { return event(kind, rng) }))
		if len(o.Dictionaries) != 1 {
			t.Fatalf("%s: %d dictionaries", name, len(o.Dictionaries))
		}
		if kept := o.Dictionaries[0].Number == old.Dictionaries[0].Number; kept != (kind == "login") {
			t.Errorf("%s: the dictionary is kept: %v", name, kept)
		}
	}
}

func TestWriter_decodesWhatIsEncodedOtherwise(t *testing.T) {
	rng, files := testRand(), newFS(t)
	entries := bucketOf(1, 60<<10, func() string { return event("login", rng) })
	first := write(t, choosing(files), entries)
	c := choosing(files)
	c.Patterns, c.Dictionaries = false, known(first)
	number := uint64(1000)
	c.NextNumber = func() uint64 { number++; return number }
	w := NewWriter(c)
	var cursor table.Cursor
	cursor.Init(openWith(files, first.Tables[0], c.Dictionaries), &table.Scope{Read: table.ReadStored})
	for ok := cursor.First(); ok; ok = cursor.Next() {
		check(t, cursor.Load())
		check(t, w.Add(cursor.Key(), cursor.Entry()))
	}
	second, err := w.Finish()
	check(t, err)
	if got := decodedAll(t, files, second); !slices.Equal(got, entries) || second.Dictionaries != nil {
		t.Errorf("what is read is not what was written, or needs %v", second.Dictionaries)
	}
}

func TestWriter_makesNoMoreDictionariesThanItMay(t *testing.T) {
	rng, files := testRand(), newFS(t)
	c := choosing(files)
	for id := range uint64(maxDictionaries - 1) {
		c.Dictionaries = append(c.Dictionaries, block.NewDictionary(500+id, 100+id, 0, nil))
	}
	o := write(t, c, slices.Concat(
		bucketOf(1, 30<<10, func() string { return event("one", rng) }),
		bucketOf(2, 30<<10, func() string { return event("two", rng) })))
	if len(o.Dictionaries) != 1 || o.Dictionaries[0].Bucket != 1 {
		t.Errorf("%d dictionaries were made, want one for the bucket 1", len(o.Dictionaries))
	}
}

func TestWriter_refusesWhatItCannotDecode(t *testing.T) {
	c := choosing(newFS(t))
	c.Patterns = false
	w := NewWriter(c)
	err := w.Add([]byte(dataKey(1, "k")),
		keyspace.Entry{Kind: keyspace.KindPut, Value: []byte("?"), Dictionary: 77, Length: 9})
	if err == nil || !strings.Contains(err.Error(), "dictionary 000077") {
		t.Errorf("the error is %v", err)
	}
	check(t, w.Abort())
}

func TestWriter_encodesNoLargeValues(t *testing.T) {
	rng, files := testRand(), newFS(t)
	c := choosing(files)
	entries := bucketOf(1, 40<<10, func() string { return event("login", rng) })
	large := event(strings.Repeat("x", c.SampleBytes), rng)
	for i := 10; i < len(entries); i += 100 {
		entries[i].value = large
	}
	o := write(t, c, entries)
	if got := decodedAll(t, files, o); !slices.Equal(got, entries) {
		t.Fatal("what is read is not what was written")
	}
	s, count := shareOf(t, o.Tables, 1), uint64((len(entries)+89)/100)
	if s.Pattern == 0 || s.Zstd < count*uint64(len(large)) {
		t.Errorf("of %d large values, it is stored %+v", count, s)
	}
}

func TestWriter_holdsNoMoreThanASample(t *testing.T) {
	c := choosing(newFS(t))
	w := NewWriter(c)
	for i := range 200 { // long keys count as well
		key := dataKey(1, fmt.Sprintf("%03d", i)+strings.Repeat("k", 1000))
		check(t, w.Add([]byte(key), keyspace.Entry{Kind: keyspace.KindPut}))
		if n := len(w.sample.entries); n > 20 {
			t.Fatalf("%d entries of a kilobyte wait", n)
		}
	}
	check(t, w.Abort())
}

func TestReplaced_isWhatHasASuccessorAmongMany(t *testing.T) {
	var all []*block.Dictionary
	for i := range uint64(maxDictionaries / 2) {
		all = append(all, block.NewDictionary(10+i, i%10, 0, nil))
	}
	for number, want := range map[uint64]bool{10: true, 15: true, 16: false, 25: false, 99: false} {
		if got := Replaced(all, number); got != want {
			t.Errorf("dictionary %d of %d is replaced: %v", number, len(all), got)
		}
	}
	if Replaced(all[:12], 10) {
		t.Error("a dictionary is replaced where there are few")
	}
}
