package cryptfs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var seedFlag = flag.Uint64("seed", 0, "seed of random histories; 0 draws one")

var errFault = errors.New("the disk fails")

// audit knows the nonces that were used. Safe for concurrent use.
type audit struct {
	mu   sync.Mutex
	used map[[44]byte]bool // keys and nonces
	bad  int               // how many were used twice
}

// newKey returns a key whose ciphers are audited.
func (a *audit) newKey(t *testing.T, fill byte) *cryptfs.Key {
	t.Helper()
	secret := make([]byte, cryptfs.KeyBytes)
	secret[0] = fill
	a.used = make(map[[44]byte]bool)
	k, err := cryptfs.NewWatchedKey(secret, func(secret, nonce []byte) {
		var pair [44]byte
		copy(pair[copy(pair[:], secret):], nonce)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.used[pair] {
			a.bad++
		}
		a.used[pair] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// want fails the test if a nonce was used twice with a key, or if fewer than n were used.
func (a *audit) want(t *testing.T, n int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bad > 0 {
		t.Errorf("%d of %d nonces were used before, with the same key", a.bad, len(a.used))
	}
	if len(a.used) < n {
		t.Errorf("only %d nonces were used", len(a.used))
	}
}

func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./internal/vfs/cryptfs -run %s -seed %d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestNonce_isUsedOnceByFiles writes files to a disk whose operations fail now and then, and goes
// on as if they had not. No engine does so.
func TestNonce_isUsedOnceByFiles(t *testing.T) {
	rng := newRand(t)
	var a audit
	key := a.newKey(t, 1)
	for range 300 {
		disk := memfs.New()
		if err := disk.MkdirAll("db"); err != nil {
			t.Fatal(err)
		}
		files := cryptfs.New(faultfs.New(disk, func(faultfs.Op) error {
			if rng.IntN(40) == 0 {
				return errFault
			}
			return nil
		}), key)
		for n := range 4 {
			name := fmt.Sprintf("db/%06d.%s", n+1, []string{"log", "table", "values"}[rng.IntN(3)])
			if f, err := files.Create(name); err == nil {
				misuse(rng, f)
			}
		}
	}
	a.want(t, 5_000)
}

// misuse writes to a file in any order, after any failure.
func misuse(rng *rand.Rand, f vfs.File) {
	at := int64(0)
	for range 30 {
		n, _ := f.WriteAt(make([]byte, 1+rng.IntN(10_000)), at)
		if rng.IntN(10) > 0 {
			at += int64(n)
		} else {
			at = rng.Int64N(at + 1)
		}
		switch rng.IntN(8) {
		case 0:
			_ = f.Sync()
		case 1:
			_ = f.Truncate(at)
		case 2:
			_ = f.Preallocate(at + 10_000)
		}
	}
	_ = f.Close()
}

// TestNonce_isUsedOnceByADatabase opens a database over and over, on a disk that fails at a random
// operation and then crashes.
func TestNonce_isUsedOnceByADatabase(t *testing.T) {
	rng := newRand(t)
	var a audit
	h := &history{rng: rng, disk: memfs.NewCrashable(), key: a.newKey(t, 2)}
	for range 40 {
		h.session(t)
		switch rng.IntN(3) {
		case 0:
			h.disk = h.disk.Kill()
		case 1:
			h.disk = h.disk.Crash(rng)
		}
	}
	if h.opened < 10 || h.failed < 4 {
		t.Errorf("the database was opened %d times, and failed %d times", h.opened, h.failed)
	}
	a.want(t, 2_000)
}

// history is a database on a disk that fails and crashes.
type history struct {
	rng            *rand.Rand
	disk           *memfs.FS
	key            *cryptfs.Key
	opened, failed int
}

// session opens the database and uses it until the disk fails.
func (h *history) session(t *testing.T) {
	last := int64(h.rng.IntN(4000))
	disk := faultfs.New(h.disk, func(op faultfs.Op) error {
		if op.Index > last && op.Kind.Mutates() {
			return errFault
		}
		return nil
	})
	tuning := tuned.Sizes()[h.rng.IntN(2)]
	options := &stoat.Options{ValueThreshold: 64}
	db, err := tuned.Open(cryptfs.New(disk, h.key), "db", options, tuning)
	if err != nil {
		h.failed++
		return
	}
	h.opened++
	for range 40 {
		if err = h.step(t.Context(), db, disk); err != nil {
			h.failed++
			break
		}
	}
	_ = db.Close() // the disk may have failed
}

// step does something to the database.
func (h *history) step(ctx context.Context, db *stoat.DB, disk vfs.FS) error {
	switch h.rng.IntN(12) {
	case 0:
		return db.Flush()
	case 1:
		return db.Compact(ctx)
	case 2:
		link := h.rng.IntN(2) == 0
		dir := fmt.Sprintf("backup%d", h.rng.IntN(3))
		_ = tuned.Backup(ctx, db, cryptfs.New(disk, h.key), dir, link) // others may have that folder
		return nil
	}
	return db.Update(func(tx *stoat.Tx) error {
		for range 1 + h.rng.IntN(20) {
			key := []byte{byte(h.rng.IntN(200)) + 1}
			if err := tx.Put(key, make([]byte, h.rng.IntN(300))); err != nil {
				return err
			}
		}
		return nil
	})
}
