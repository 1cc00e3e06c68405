package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/datastore"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is fails the test unless err is want itself: callers compare with ==.
func is(t testing.TB, err, want error) {
	t.Helper()
	if err != want {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

func TestStore_hasAllFeatures(t *testing.T) {
	if got, all := ds.FeaturesForDatastore(inMemory(t)), ds.Features(); len(got) != len(all) {
		t.Errorf("the features are %v, want %v", got, all)
	}
}

func TestStore_sharesNoBytesWithCallers(t *testing.T) {
	s, key := inMemory(t), ds.NewKey("k")
	mine := []byte("value")
	ok(t, s.Put(t.Context(), key, mine))
	mine[0] = 'X'
	got, err := s.Get(t.Context(), key)
	ok(t, err)
	got[1] = 'X'
	b, err := s.Batch(t.Context())
	ok(t, err)
	mine = []byte("batched")
	ok(t, b.Put(t.Context(), ds.NewKey("b"), mine))
	mine[0] = 'X'
	ok(t, b.Commit(t.Context()))
	for e, err := range ds.QueryIter(t.Context(), s, query.Query{}) {
		ok(t, err)
		e.Value[2] = 'X'
	}
	want(t, s, "k", "value")
	want(t, s, "b", "batched")
}

func TestStore_tellsEmptyFromMissing(t *testing.T) {
	s := inMemory(t)
	ok(t, s.Put(t.Context(), ds.NewKey("empty"), nil))
	got, err := s.Get(t.Context(), ds.NewKey("empty"))
	ok(t, err)
	if got == nil {
		t.Error("an empty value is nil, like a missing one")
	}
	size, err := s.GetSize(t.Context(), ds.NewKey("empty"))
	ok(t, err)
	if size != 0 {
		t.Errorf("the size of an empty value is %d", size)
	}
}

func TestStore_refusesTheZeroKey(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	put(t, s, "", "root") // NewKey makes it "/"
	want(t, s, "/", "root")
	_, err := s.Get(ctx, ds.Key{})
	b, _ := s.Batch(ctx)
	ok(t, b.Put(ctx, ds.Key{}, nil))
	for _, err := range []error{err, s.Put(ctx, ds.Key{}, nil), b.Commit(ctx)} {
		is(t, err, stoat.ErrInvalidKey)
	}
}

func TestClose_isFinalAndMayBeRepeated(t *testing.T) {
	s, ctx, key := inMemory(t), t.Context(), ds.NewKey("k")
	put(t, s, "k", "v")
	b, err := s.Batch(ctx)
	ok(t, err)
	ok(t, b.Put(ctx, key, nil))
	ok(t, s.Close())
	ok(t, s.Close())
	_, getErr := s.Get(ctx, key)
	_, queryErr := s.Query(ctx, query.Query{})
	_, txnErr := s.NewTransaction(ctx, true)
	for _, err := range []error{
		getErr, queryErr, txnErr, s.Put(ctx, key, nil), s.Delete(ctx, key), b.Commit(ctx),
		s.Sync(ctx, key), s.CollectGarbage(ctx), s.Check(ctx), s.Scrub(ctx),
	} {
		if !errors.Is(err, stoat.ErrClosed) {
			t.Errorf("the error is %v, want ErrClosed", err)
		}
	}
	if n, err := s.DiskUsage(ctx); err != nil || n == 0 {
		t.Errorf("%d bytes in use, %v", n, err)
	}
}

func TestStore_survivesReopening(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, nil)
	put(t, s, "/a/b", "kept")
	ok(t, s.Close())
	want(t, openAt(t, dir, nil), "/a/b", "kept")
}

// TestSync cuts the power, after which the disk has what was synced.
func TestSync(t *testing.T) {
	disk := memfs.NewCrashable()
	open := func(disk *memfs.FS) *datastore.Store {
		db, err := tuned.Open(disk, "db", &stoat.Options{Sync: stoat.SyncNever}, engine.Tuning{})
		ok(t, err)
		s := datastore.New(db)
		t.Cleanup(func() { ok(t, s.Close()) })
		return s
	}
	s := open(disk)
	put(t, s, "/a", "")
	ok(t, s.Sync(t.Context(), ds.NewKey("/a")))
	put(t, s, "/b", "")
	after := open(disk.CrashKeepNone())
	want(t, after, "/a", "")
	want(t, after, "/b", none)
}

func TestStore_leavesOtherDataAlone(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	defer db.Close()
	ok(t, db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("/other"))
		if err != nil {
			return err
		}
		return b.Put([]byte("/k"), nil)
	}))
	ok(t, db.Put([]byte("no key of a datastore"), nil))
	s := datastore.New(db)
	put(t, s, "/mine", "")
	if got := keysOf(t, s, query.Query{}); fmt.Sprint(got) != "[/mine]" {
		t.Errorf("the keys are %v", got)
	}
}

func TestStore_opensReadOnly(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	s := openAt(t, dir, nil)
	put(t, s, "/k", "v")
	ok(t, s.Close())
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	s = datastore.New(db)
	defer s.Close()
	want(t, s, "/k", "v")
	b, err := s.Batch(ctx)
	ok(t, err)
	ok(t, b.Delete(ctx, ds.NewKey("/k")))
	_, txnErr := s.NewTransaction(ctx, false)
	for _, err := range []error{b.Commit(ctx), txnErr, s.Put(ctx, ds.NewKey("/k"), nil)} {
		if !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("the error is %v, want ErrReadOnly", err)
		}
	}
	want(t, begin(t, s, true), "/k", "v")
}

func TestTTL(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	before := time.Now().Add(time.Hour - time.Millisecond)
	ok(t, s.PutWithTTL(ctx, ds.NewKey("hour"), []byte("v"), time.Hour))
	put(t, s, "ever", "v")
	at, err := s.GetExpiration(ctx, ds.NewKey("hour"))
	ok(t, err)
	if at.Before(before) || at.After(time.Now().Add(time.Hour+time.Millisecond)) {
		t.Errorf("expires at %v, want an hour from now", at)
	}
	at, err = s.GetExpiration(ctx, ds.NewKey("ever"))
	ok(t, err)
	if !at.IsZero() {
		t.Errorf("what does not expire expires at %v", at)
	}
	ok(t, s.SetTTL(ctx, ds.NewKey("ever"), 2*time.Hour))
	want(t, s, "ever", "v")
	res, err := s.Query(ctx, query.Query{ReturnExpirations: true, KeysOnly: true})
	ok(t, err)
	all, err := res.Rest()
	ok(t, err)
	if len(all) != 2 || !all[0].Expiration.After(all[1].Expiration) || all[1].Expiration.IsZero() {
		t.Errorf("the entries are %v", all)
	}
	put(t, s, "hour", "again") // a Put does not expire
	at, err = s.GetExpiration(ctx, ds.NewKey("hour"))
	ok(t, err)
	if !at.IsZero() {
		t.Errorf("a value put without a time to live expires at %v", at)
	}
}

func TestTTL_ofWhatIsMissing(t *testing.T) {
	s, ctx, key := inMemory(t), t.Context(), ds.NewKey("b")
	put(t, s, "a", "")
	put(t, s, "c", "")
	is(t, s.SetTTL(ctx, key, time.Hour), ds.ErrNotFound)
	at, err := s.GetExpiration(ctx, key)
	if !errors.Is(err, ds.ErrNotFound) || !at.IsZero() {
		t.Errorf("%v, %v, want ErrNotFound", at, err)
	}
	if err := s.PutWithTTL(ctx, key, nil, 0); err == nil {
		t.Error("a value without time to live was stored")
	}
}

func TestDiskUsage_isAboutThatOfTheFiles(t *testing.T) {
	for _, size := range []int{1000, 10_000} { // the larger ones are not in tables
		dir := t.TempDir()
		s, n, random := openAt(t, dir, nil), 3_000_000/size, rand.NewChaCha8([32]byte{})
		value := make([]byte, size)
		for i := range n {
			_, _ = random.Read(value)
			put(t, s, fmt.Sprint(i), string(value))
		}
		inLog := usage(t, s, dir)
		ok(t, s.CollectGarbage(t.Context()))
		usage(t, s, dir)
		for i := range n {
			ok(t, s.Delete(t.Context(), ds.NewKey(fmt.Sprint(i))))
		}
		ok(t, s.CollectGarbage(t.Context()))
		if got, err := ds.DiskUsage(t.Context(), s); err != nil || got > inLog/10 {
			t.Errorf("%d bytes in use after all was deleted, %d before; %v", got, inLog, err)
		}
	}
}

// usage fails the test unless the store knows roughly how large its files are.
func usage(t *testing.T, s *datastore.Store, dir string) uint64 {
	t.Helper()
	files := sizeOf(t, dir)
	got, err := ds.DiskUsage(t.Context(), s)
	ok(t, err)
	if got < files/2 || got > files*2 {
		t.Errorf("%d bytes in use, and the files have %d", got, files)
	}
	return got
}

func sizeOf(t *testing.T, dir string) (n uint64) {
	t.Helper()
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += uint64(info.Size())
		}
		return err
	}))
	return n
}

func TestCheck_findsDamage(t *testing.T) {
	skipWhereMappedFilesAreFixed(t)
	dir := t.TempDir()
	s := openAt(t, dir, nil)
	put(t, s, "k", "a value that fills more than a few bytes of the table")
	ok(t, s.CollectGarbage(t.Context()))
	ok(t, s.Check(t.Context()))
	ok(t, s.Scrub(t.Context()))
	tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables in %s: %v", dir, err)
	}
	for _, name := range tables {
		text, err := os.ReadFile(name)
		ok(t, err)
		text[len(text)/2] ^= 1
		ok(t, os.WriteFile(name, text, 0o600))
	}
	for _, err := range []error{s.Check(t.Context()), s.Scrub(t.Context())} {
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("the error is %v, want ErrCorrupt", err)
		}
	}
}

func skipWhereMappedFilesAreFixed(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to cut off and replace files that are mapped")
	}
}

func TestStore_heedsContexts(t *testing.T) {
	s := inMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, ds.NewKey("k"))
	is(t, err, context.Canceled)
	is(t, s.Put(ctx, ds.NewKey("k"), nil), context.Canceled)
	want(t, s, "k", none)
}
