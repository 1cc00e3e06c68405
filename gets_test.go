package stoat_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
)

// getsModel is a database of a few buckets beside a map with the same contents.
type getsModel struct {
	t       *testing.T
	rng     *rand.Rand
	buckets []string
	want    map[string]string // by bucket and key; what has expired is not there
}

// getsKeys is how many keys a bucket may have.
const getsKeys = 200

func getsKey(i int) []byte { return fmt.Appendf(nil, "key %04d", i) }

func (m *getsModel) bucket(tx *stoat.Tx, name string) stoat.KeySpace {
	m.t.Helper()
	if name == "" {
		return tx
	}
	b, err := tx.Bucket([]byte(name))
	ok(m.t, err)
	return b
}

// write makes a few writes near each other.
func (m *getsModel) write(tx *stoat.Tx, n int) {
	m.t.Helper()
	name := m.buckets[m.rng.IntN(len(m.buckets))]
	b, at := m.bucket(tx, name), m.rng.IntN(getsKeys)
	for range n {
		i := (at + m.rng.IntN(n)) % getsKeys
		key, value := getsKey(i), fmt.Appendf(nil, "value %d of %s %d", m.rng.IntN(1e6), name, i)
		switch m.rng.IntN(8) {
		case 0, 1:
			ok(m.t, b.Delete(key))
			delete(m.want, name+"/"+string(key))
		case 2:
			end := min(i+m.rng.IntN(8), getsKeys)
			ok(m.t, b.DeleteRange(stoat.Range{Start: key, End: getsKey(end)}))
			for ; i < end; i++ {
				delete(m.want, name+"/"+string(getsKey(i)))
			}
		case 3:
			ok(m.t, b.PutUntil(key, value, time.Unix(1, 0)))
			delete(m.want, name+"/"+string(key))
		default:
			ok(m.t, b.Put(key, value))
			m.want[name+"/"+string(key)] = string(value)
		}
	}
}

// check gets keys of one bucket, or of all in turns, in some order.
func (m *getsModel) check(tx *stoat.Tx, want map[string]string) {
	m.t.Helper()
	buckets := make([]stoat.KeySpace, len(m.buckets))
	for i, name := range m.buckets {
		buckets[i] = m.bucket(tx, name)
	}
	in, turns := m.rng.IntN(len(buckets)), m.rng.IntN(2) == 0
	at, step := m.rng.IntN(getsKeys), []int{1, -1, 0, 3, m.rng.IntN(getsKeys)}[m.rng.IntN(5)]
	for n := range 60 {
		if turns {
			in = n % len(buckets)
		}
		key := getsKey(at)
		expected, there := want[m.buckets[in]+"/"+string(key)]
		value, err := buckets[in].Get(key)
		if there != (err == nil) || err != nil && !errors.Is(err, stoat.ErrNotFound) ||
			string(value) != expected {
			m.t.Fatalf("get %q of bucket %q: %q, %v; want %q, %t",
				key, m.buckets[in], value, err, expected, there)
		}
		if has, err := buckets[in].Has(key); has != there || err != nil {
			m.t.Fatalf("has %q of bucket %q: %t, %v; want %t", key, m.buckets[in], has, err, there)
		}
		if at = (at + step + getsKeys) % getsKeys; m.rng.IntN(25) == 0 {
			at = m.rng.IntN(getsKeys)
		}
	}
}

func TestGet_inAnyOrderAgreesWithAMap(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for n, sizes := range tuned.Sizes() {
		seed := rand.Uint64()
		t.Logf("sizes %d, seed %d", n, seed)
		db, err := tuned.OpenMemory(nil, sizes)
		ok(t, err)
		m := &getsModel{
			t: t, rng: rand.New(rand.NewPCG(seed, 0)), buckets: []string{"", "a", "b"},
			want: map[string]string{},
		}
		update(t, db, func(tx *stoat.Tx) {
			for _, name := range m.buckets[1:] {
				_, err := tx.CreateBucket([]byte(name))
				ok(t, err)
			}
		})
		for range rounds {
			m.round(db)
		}
		ok(t, db.Close())
	}
}

// round writes and reads in one transaction, beside one that sees the state before it.
func (m *getsModel) round(db *stoat.DB) {
	m.t.Helper()
	before := make(map[string]string, len(m.want))
	for key, value := range m.want {
		before[key] = value
	}
	older, err := db.Begin(false)
	ok(m.t, err)
	defer func() { ok(m.t, older.Rollback()) }()
	m.check(older, before)
	update(m.t, db, func(tx *stoat.Tx) {
		for range 1 + m.rng.IntN(4) {
			m.write(tx, 1+m.rng.IntN(30))
			m.check(tx, m.want)
		}
	})
	switch m.rng.IntN(10) {
	case 0:
		ok(m.t, db.Compact(m.t.Context()))
	case 1, 2, 3:
		ok(m.t, db.Flush())
	}
	m.check(older, before)
	view(m.t, db, func(tx *stoat.Tx) {
		for range 4 {
			m.check(tx, m.want)
		}
	})
}
