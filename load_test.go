package stoat_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// numbered yields the keys of the numbers in order, each with a value that tells the number.
func numbered(numbers []int) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		var key []byte
		for _, n := range numbers {
			key = binary.BigEndian.AppendUint32(key[:0], uint32(n))
			if !yield(key, fmt.Appendf(nil, "value %d", n)) {
				return
			}
		}
	}
}

// openDir opens a database in a folder, which must be closed.
func openDir(t testing.TB, dir string, opts *stoat.Options) *stoat.DB {
	t.Helper()
	db, err := stoat.Open(dir, opts)
	ok(t, err)
	return db
}

func ascending(from, to int) (numbers []int) {
	for n := from; n < to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// wantNumbers fails the test unless the root bucket has just these numbers, which are in order.
func wantNumbers(t *testing.T, db *stoat.DB, want []int) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		i := 0
		for key, value := range tx.Scan(stoat.Range{}) {
			if i == len(want) || binary.BigEndian.Uint32(key) != uint32(want[i]) ||
				string(value) != fmt.Sprintf("value %d", want[i]) {
				t.Fatalf("entry %d is %x = %q", i, key, value)
			}
			i++
		}
		equal(t, i, len(want))
	})
}

func TestLoad_takesKeysInAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const n = 20_000
	orders := map[string][]int{"ascending": ascending(0, n), "random": rng.Perm(n)}
	for i := range n {
		orders["descending"] = append(orders["descending"], n-1-i)
		orders["ascending, but for the last"] = append(orders["ascending, but for the last"], (i+1)%n)
	}
	orders["twice"] = append(ascending(0, n), ascending(0, n)...)
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := openDir(t, dir, &stoat.Options{MemoryLimit: 2 << 20}) // a fraction of the pairs
			ok(t, db.Load(context.Background(), numbered(order)))
			wantNumbers(t, db, ascending(0, n))
			ok(t, db.Close())
			db = openDir(t, dir, nil)
			wantNumbers(t, db, ascending(0, n))
			ok(t, db.Close())
		})
	}
}

func TestLoad_isOneTransactionAmongOthers(t *testing.T) {
	db := openDir(t, t.TempDir(), nil)
	one := func(n int) []int { return []int{n} }
	ok(t, db.Load(context.Background(), numbered(ascending(100, 200))))
	for key, value := range numbered(one(50)) {
		ok(t, db.Put(key, value))
	}
	ok(t, db.Load(context.Background(), numbered(ascending(40, 60)))) // over a memtable
	for key, value := range numbered(one(300)) {
		ok(t, db.Put(key, value))
	}
	snapshot, err := db.Begin(false)
	ok(t, err)
	defer snapshot.Rollback()
	ok(t, db.Load(context.Background(), numbered(ascending(400, 500))))
	_, err = snapshot.Get(binary.BigEndian.AppendUint32(nil, 450))
	wantErr(t, err, stoat.ErrNotFound)
	want := append(append(ascending(40, 60), ascending(100, 200)...), 300)
	want = append(want, ascending(400, 500)...)
	wantNumbers(t, db, want)
	ok(t, db.Load(context.Background(), numbered(nil)))
	wantNumbers(t, db, want)
	ok(t, db.Close())
}

func TestLoad_thatFailsLeavesNothing(t *testing.T) {
	var cancel context.CancelFunc
	for name, pairs := range map[string]iter.Seq2[[]byte, []byte]{
		"an empty key": func(yield func(key, value []byte) bool) {
			_ = yield([]byte("a"), nil) && yield(nil, nil)
		},
		"a context that ends": func(yield func(key, value []byte) bool) {
			for i := 0; yield(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 100)); i++ {
				if i == 50_000 {
					cancel()
				}
			}
		},
		"a panic": func(yield func(key, value []byte) bool) {
			for i := range 20_000 {
				yield(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, 100))
			}
			panic(errTest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			defer cancel()
			dir := t.TempDir()
			db := openDir(t, dir, &stoat.Options{MemoryLimit: 2 << 20})
			ok(t, db.Put([]byte("before"), []byte("v-before")))
			ok(t, db.Flush())
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				return db.Load(ctx, pairs)
			}()
			if !errors.Is(err, stoat.ErrInvalidKey) && !errors.Is(err, context.Canceled) &&
				!errors.Is(err, errTest) {
				t.Errorf("error %v", err)
			}
			view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "before") })
			if left, err := filepath.Glob(filepath.Join(dir, "*.table")); err != nil || len(left) != 1 {
				t.Errorf("tables %v, %v", left, err)
			}
			ok(t, db.Put([]byte("then"), nil))
			ok(t, db.Close())
		})
	}
}
