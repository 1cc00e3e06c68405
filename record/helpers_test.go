package record_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// person has fields of all kinds that can be indexed.
type person struct {
	ID     int64     `stoat:"id,key"`
	Email  string    `stoat:"email,unique"`
	Age    int32     `stoat:"age,index"`
	Tags   []string  `stoat:"tags,index"`
	Score  float64   `stoat:"score,index"`
	Born   time.Time `stoat:"born,index"`
	Token  [16]byte  `stoat:"token,index"`
	Blob   []byte    `stoat:"blob,index"`
	Active bool      `stoat:"active,index"`
	Level  *int16    `stoat:"level,index"`
	Codes  []uint16  `stoat:"codes"`
	Home   home      `stoat:"home"`
	Note   string    `stoat:"note"`
	Extra  map[string]int64
}

// home is a struct within a person.
type home struct {
	City string `stoat:"city,index"`
	Zip  uint32 `stoat:"zip"`
}

// personOptions are those of a collection of persons.
func personOptions(codec record.Codec) *record.Options[person] {
	return &record.Options[person]{Codec: codec, Indexes: []record.Index{
		{Name: "cityAge", Fields: []string{"home.city", "age"}},
		{Name: "tagScore", Fields: []string{"active", "tags", "score"}},
		{Name: "cityZip", Fields: []string{"home.city", "home.zip"}, Unique: true},
	}}
}

// newRand returns a source of random numbers, and prints its seed if the test fails.
func newRand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := rand.Uint64()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// randomText returns a short text of few letters, among them the bytes 0 and 1.
func randomText(r *rand.Rand, n int) string {
	p := make([]rune, r.IntN(n+1)) // JSON keeps valid text only
	for i := range p {
		p[i] = []rune("\x00\x01abÿ")[r.IntN(5)]
	}
	return string(p)
}

// randomPerson returns a person with values that often are those of another.
func randomPerson(r *rand.Rand, id int64) *person {
	p := &person{ID: id, Email: fmt.Sprintf("%d@%d", id, r.IntN(3)), Age: r.Int32N(20) - 5,
		Score: float64(r.IntN(9)-4) / 2, Active: r.IntN(2) == 1, Note: randomText(r, 50),
		Born: time.Unix(int64(r.IntN(9)-4)*1e8, r.Int64N(3)).UTC()}
	p.Home = home{randomText(r, 2), uint32(id) + 1000*r.Uint32N(2)}
	p.Token[r.IntN(3)] = byte(r.IntN(3))
	if r.IntN(3) > 0 {
		p.Blob = append(p.Blob, 'x')
		p.Blob = append(p.Blob, randomText(r, 2)...)
	}
	for range r.IntN(4) {
		p.Tags = append(p.Tags, randomText(r, 1))
		p.Codes = append(p.Codes, uint16(r.IntN(5)))
	}
	if r.IntN(3) > 0 {
		level := int16(2*r.IntN(4) - 3) // gob loses pointers to 0
		p.Level = &level
	}
	if r.IntN(4) == 0 {
		p.Extra = map[string]int64{"a": r.Int64N(9)}
	}
	return p
}

// openMemory returns a database in memory.
func openMemory(tb testing.TB) *stoat.DB {
	tb.Helper()
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// openIn opens the database in a folder. The caller closes it.
func openIn(tb testing.TB, dir string) *stoat.DB {
	tb.Helper()
	db, err := stoat.Open(dir, nil)
	ok(tb, err)
	return db
}

// ok wants no error.
func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// mustOpen opens a collection.
func mustOpen[T any](
	tb testing.TB, db *stoat.DB, name string, opts *record.Options[T],
) *record.Collection[T] {
	tb.Helper()
	c, err := record.Open(db, name, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// update runs fn in a transaction that must succeed.
func update(tb testing.TB, db *stoat.DB, fn func(tx *stoat.Tx) error) {
	tb.Helper()
	if err := db.Update(fn); err != nil {
		tb.Fatal(err)
	}
}

// view runs fn in a read-only transaction that must succeed.
func view(tb testing.TB, db *stoat.DB, fn func(tx *stoat.Tx) error) {
	tb.Helper()
	if err := db.View(fn); err != nil {
		tb.Fatal(err)
	}
}

// put stores records.
func put[T any](tb testing.TB, db *stoat.DB, c *record.Collection[T], all ...*T) {
	tb.Helper()
	update(tb, db, func(tx *stoat.Tx) error {
		for _, r := range all {
			if err := c.Put(tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// collect returns what a loop yields.
func collect[V any](tb testing.TB, loop iter.Seq2[V, error]) []V {
	tb.Helper()
	var all []V
	for v, err := range loop {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// wantEqual compares two values.
func wantEqual(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if !reflect.DeepEqual(got, want) {
		tb.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// wantError checks that the message has all the parts.
func wantError(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("error %q, want one with %q", err, part)
		}
	}
}
