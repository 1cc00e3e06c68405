package stoat_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// folderBytes returns the size of all files in a folder.
func folderBytes(t testing.TB, dir string) (n int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	ok(t, err)
	for _, name := range names {
		info, err := os.Stat(name)
		ok(t, err)
		n += info.Size()
	}
	return n
}

func TestCompact_leavesOneRunWithoutGarbage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	db := openDir(t, dir, nil)
	want := map[string]string{}
	for range 30 {
		update(t, db, func(tx *stoat.Tx) {
			for range 20 {
				key, value := fmt.Sprint(rng.IntN(100)), make([]byte, rng.IntN(8000))
				for i := range value {
					value[i] = byte(rng.Uint32())
				}
				ok(t, tx.Put([]byte(key), value))
				want[key] = string(value)
			}
		})
		ok(t, db.Flush())
	}
	ok(t, db.Compact(context.Background()))
	live := 0
	for key, value := range want {
		live += len(key) + len(value)
	}
	s := db.Stats()
	equal(t, s.YoungRuns, 0)
	equal(t, s.Entries, uint64(len(want)))
	if n := folderBytes(t, dir); n > int64(live)*102/100+20_000 {
		t.Errorf("%d bytes on disk for %d bytes of keys and values", n, live)
	}
	view(t, db, func(tx *stoat.Tx) {
		for key, value := range tx.Scan(stoat.Range{}) {
			equal(t, string(value), want[string(key)])
		}
	})
	merges := db.Stats().Merges
	ok(t, db.Compact(context.Background()))
	equal(t, db.Stats().Merges, merges) // there is nothing left to do
	ok(t, db.Close())
}

func TestCompact_stopsWithItsContext(t *testing.T) {
	db := memory(t)
	ok(t, db.Put([]byte("a"), nil))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, db.Compact(ctx), context.Canceled)
	ok(t, db.Compact(context.Background()))
	ok(t, db.Close())
	wantErr(t, db.Compact(context.Background()), stoat.ErrClosed)
}

func TestReclaim_keepsTheFilesNearTheLiveBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOn(t, memfs.New(), &stoat.Options{MemoryLimit: 4 << 20})
		rng := rand.New(rand.NewPCG(1, 2))
		const keys, valueBytes = 400, 10_000
		value := make([]byte, valueBytes)
		for range 100 {
			update(t, db, func(tx *stoat.Tx) {
				for range keys / 4 {
					binary.LittleEndian.PutUint64(value, rng.Uint64())
					ok(t, tx.Put(benchKey(rng.IntN(keys)), value))
				}
			})
		}
		written := db.Stats().CommittedBytes
		<-time.After(time.Minute)
		const live = keys * valueBytes
		s := db.Stats()
		bytes := s.TableBytes + s.ValueFileBytes
		if bytes > live*3/2+64<<20 || written < 20*live {
			t.Errorf("%d bytes in files, %d of them live, after %d were written", bytes, live, written)
		}
		ok(t, db.Close())
	})
}

func TestCompact_racesWithClose(t *testing.T) {
	for round := range 30 {
		fs := memfs.New()
		db := openOn(t, fs, &stoat.Options{ValueThreshold: 64})
		for i := range 20 {
			update(t, db, func(tx *stoat.Tx) {
				for k := range 20 {
					ok(t, tx.Put(benchKey(k*20+i), make([]byte, 200)))
				}
			})
			if i%5 == 0 {
				ok(t, db.Flush())
			}
		}
		ended := make(chan error)
		go func() { ended <- db.Compact(context.Background()) }()
		if round%2 == 0 {
			ok(t, db.Flush())
		}
		ok(t, db.Close())
		if err := <-ended; err != nil && !errors.Is(err, stoat.ErrClosed) {
			t.Fatal(err)
		}
		db = openOn(t, fs, nil)
		n := 0
		view(t, db, func(tx *stoat.Tx) {
			for range tx.Scan(stoat.Range{}) {
				n++
			}
		})
		equal(t, n, 400)
		ok(t, db.Close())
	}
}
