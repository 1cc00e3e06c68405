package cryptfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const someTable = "db/000007.table"

// nthKey returns the nth key of the tests.
func nthKey(t testing.TB, n byte) *Key {
	t.Helper()
	k, err := NewKey(key(n))
	ok(t, err)
	return k
}

// opens reports whether the nth key reads the table; any other error than that of a wrong key fails
// the test.
func opens(t testing.TB, inner vfs.FS, n byte) bool {
	t.Helper()
	got, err := read(newTestFS(t, inner, n), someTable)
	if err == nil && !bytes.Equal(got, text(5000)) {
		t.Error("other content")
	}
	if err != nil && !errors.Is(err, corrupt.ErrKey) {
		t.Errorf("with the key %d: %v", n, err)
	}
	return err == nil
}

// newEncrypted returns a file system with a table under the first key, all of it durable.
func newEncrypted(t testing.TB) *memfs.FS {
	t.Helper()
	inner := memfs.NewCrashable()
	ok(t, inner.MkdirAll("db"))
	write(t, newTestFS(t, inner, 1), someTable, text(5000))
	ok(t, inner.SyncDir("db"))
	return inner
}

func TestRekey_replacesTheKey(t *testing.T) {
	inner := newEncrypted(t)
	before := stored(t, inner, someTable)
	ok(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 2)))
	if opens(t, inner, 1) || !opens(t, inner, 2) {
		t.Error("the old key opens the folder, or the new one does not")
	}
	if !bytes.Equal(stored(t, inner, someTable), before) {
		t.Error("the table was written again")
	}
	ok(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 2))) // finished already
	wantErr(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 3)), corrupt.ErrKey)
	if !opens(t, inner, 2) {
		t.Error("the key is lost")
	}
}

// TestRekey_crashesWithAKey crashes before and after each operation of Rekey. One of the keys opens
// what is left, and calling Rekey again finishes it.
func TestRekey_crashesWithAKey(t *testing.T) {
	const seeds = 12
	crashes := 0
	for point := int64(0); ; point++ {
		inner := newEncrypted(t)
		var left []*memfs.FS
		crashing := faultfs.New(inner, func(op faultfs.Op) error {
			if op.Index != point {
				return nil
			}
			left = append(left, inner.CrashKeepNone(), inner.CrashKeepAll(), inner.Kill())
			for seed := range uint64(seeds) {
				left = append(left, inner.Crash(rand.New(rand.NewPCG(seed, uint64(point)))))
			}
			return errors.New("crashed")
		})
		_ = Rekey(crashing, "db", nthKey(t, 1), nthKey(t, 2)) // what is left matters
		if left == nil {
			break
		}
		for i, disk := range append(left, inner) {
			if !opens(t, disk, 1) && !opens(t, disk, 2) {
				t.Fatalf("after operation %d, crash %d, neither key opens the folder", point, i)
			}
			ok(t, Rekey(disk, "db", nthKey(t, 1), nthKey(t, 2)))
			if last := disk.CrashKeepNone(); opens(t, last, 1) || !opens(t, last, 2) {
				t.Fatalf("after operation %d, crash %d, the key is not the new one", point, i)
			}
			crashes++
		}
	}
	if crashes < 20*seeds {
		t.Errorf("only %d crashes", crashes)
	}
}

// TestKeyring_crashesWithAKey crashes, or kills the process, while the first file of a folder is
// written. A file that is durable then can be read.
func TestKeyring_crashesWithAKey(t *testing.T) {
	points := int64(0)
	for ; ; points++ {
		inner := memfs.NewCrashable()
		ok(t, inner.MkdirAll("db"))
		crashed := false
		crashing := faultfs.New(inner, func(op faultfs.Op) error {
			if crashed = crashed || op.Index == points; crashed {
				return errors.New("crashed")
			}
			return nil
		})
		if f, err := newTestFS(t, crashing, 1).Create(someTable); err == nil {
			_ = f.Close() // it may have crashed
		}
		if !crashed {
			break
		}
		wantKept(t, fmt.Sprintf("killed after operation %d", points), inner.Kill())
		for seed := range uint64(20) {
			disk := inner.Crash(rand.New(rand.NewPCG(seed, uint64(points))))
			wantKept(t, fmt.Sprintf("crashed after operation %d, seed %d", points, seed), disk)
		}
	}
	if points < 10 {
		t.Errorf("only %d operations", points)
	}
}

// wantKept wants the first table of a folder to be readable once it is durable.
func wantKept(t *testing.T, what string, disk *memfs.FS) {
	t.Helper()
	if files := newTestFS(t, disk, 1); isThere(files, someTable) {
		ok(t, files.Remove(someTable))
	}
	write(t, newTestFS(t, disk, 1), someTable, text(5000))
	ok(t, disk.SyncDir("db"))
	if !opens(t, disk.CrashKeepNone(), 1) {
		t.Fatalf("%s: the key is lost", what)
	}
}

// isThere reports whether there is a file with a name.
func isThere(files vfs.Files, name string) bool {
	_, err := files.IsRegular(name)
	return err == nil
}

// wrappingNames returns the wrappings of the folder.
func wrappingNames(t testing.TB, inner vfs.FS) (all []string) {
	t.Helper()
	numbers, err := keyNumbers(inner, "db")
	ok(t, err)
	for _, n := range numbers {
		all = append(all, "db/"+names.KeyName(n))
	}
	return all
}

func TestKeyring_hasASecondCopyOfTheKey(t *testing.T) {
	inner := newEncrypted(t)
	all := wrappingNames(t, inner)
	if len(all) != copies {
		t.Fatalf("the folder has %q", all)
	}
	for _, name := range all {
		whole := stored(t, inner, name)
		for bit := range 8 * len(whole) {
			p := bytes.Clone(whole)
			p[bit/8] ^= 1 << (bit % 8)
			store(t, inner, name, p)
			wantDamagedKeys(t, inner)
		}
		for size := range whole {
			store(t, inner, name, whole[:size])
			wantDamagedKeys(t, inner)
		}
		store(t, inner, name, append(bytes.Clone(whole), 0))
		wantDamagedKeys(t, inner)
		ok(t, inner.Remove(name))
		wantDamagedKeys(t, inner)
		write(t, inner, name, whole)
	}
	files := newTestFS(t, inner, 1)
	_, err := files.OpenFolder("db")
	ok(t, err)
	ok(t, errors.Join(files.CheckKeys()...))
	ok(t, inner.Remove(all[1]))
	ok(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 1)))
	if got := wrappingNames(t, inner); len(got) != copies {
		t.Errorf("after a repair the folder has %q", got)
	}
}

// wantDamagedKeys wants the table to be readable, and damage of the wrappings to be found.
func wantDamagedKeys(t *testing.T, inner vfs.FS) {
	t.Helper()
	if !opens(t, inner, 1) {
		t.Fatal("the other copy does not open the folder")
	}
	files := newTestFS(t, inner, 1)
	folder, err := files.OpenFolder("db")
	ok(t, err)
	_, err = folder.List("db")
	ok(t, err)
	wantErr(t, errors.Join(files.CheckKeys()...), corrupt.Err)
	ok(t, folder.Close())
}

// TestKeyring_damage damages all copies of the key. There is one clear error, no new key, and what
// is put back opens the folder again.
func TestKeyring_damage(t *testing.T) {
	other := newEncrypted(t)
	foreign := stored(t, other, "db/KEY-000001")
	for name, c := range map[string]struct {
		change func(p []byte) []byte // nil for a file that is gone
		want   error
	}{
		"gone":                {func([]byte) []byte { return nil }, corrupt.Err},
		"empty":               {func([]byte) []byte { return []byte{} }, corrupt.Err},
		"zeros":               {func(p []byte) []byte { return make([]byte, len(p)) }, corrupt.Err},
		"cut off":             {func(p []byte) []byte { return p[:100] }, corrupt.Err},
		"a bit":               {func(p []byte) []byte { p[70] ^= 1; return p }, corrupt.Err},
		"of another database": {func([]byte) []byte { return foreign }, corrupt.ErrKey},
	} {
		t.Run(name, func(t *testing.T) {
			inner := newEncrypted(t)
			whole := make(map[string][]byte)
			for _, name := range wrappingNames(t, inner) {
				whole[name] = stored(t, inner, name)
				ok(t, inner.Remove(name))
				if p := c.change(bytes.Clone(whole[name])); p != nil {
					write(t, inner, name, p)
				}
			}
			files := newTestFS(t, inner, 1)
			_, err := read(files, someTable)
			wantErr(t, err, c.want)
			if c.want == corrupt.Err {
				_, err = files.Create("db/000009.table")
				wantErr(t, err, corrupt.Err)
				wantErr(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 2)), corrupt.Err)
			}
			for name, p := range whole {
				_ = inner.Remove(name) // it may be gone
				write(t, inner, name, p)
			}
			if !opens(t, inner, 1) {
				t.Error("what was put back does not open the folder")
			}
		})
	}
}

// TestRekey_isUndoneByAnOldCopy shows what docs/encryption.md warns of.
func TestRekey_isUndoneByAnOldCopy(t *testing.T) {
	inner := newEncrypted(t)
	old := stored(t, inner, "db/KEY-000001")
	ok(t, Rekey(inner, "db", nthKey(t, 1), nthKey(t, 2)))
	write(t, inner, "db/KEY-000001", old)
	if !opens(t, inner, 1) || !opens(t, inner, 2) {
		t.Error("the old file does not work beside the new ones")
	}
}

func TestRekey_refuses(t *testing.T) {
	two := newEncrypted(t)
	write(t, two, "db/KEY-000009", stored(t, newEncrypted(t), "db/KEY-000001"))
	ok(t, names.CreateLock(two, "db"))
	plain := newMemory(t)
	write(t, plain, someTable, []byte("STOATTAB"))
	held := newEncrypted(t)
	ok(t, names.CreateLock(held, "db"))
	lock, err := names.Lock(held, "db")
	ok(t, err)
	for name, c := range map[string]struct {
		inner vfs.FS
		want  error
	}{
		"two databases": {two, corrupt.ErrKey},
		"not encrypted": {plain, corrupt.ErrKey},
		"empty":         {newMemory(t), fs.ErrNotExist},
		"missing":       {memfs.New(), fs.ErrNotExist},
		"in use":        {held, vfs.ErrLocked},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(c.inner.List("db"))
			wantErr(t, Rekey(c.inner, "db", nthKey(t, 1), nthKey(t, 2)), c.want)
			if after := fmt.Sprint(c.inner.List("db")); after != before {
				t.Errorf("the folder had %s and has %s", before, after)
			}
		})
	}
	ok(t, lock.Close())
}

func FuzzWrapping(f *testing.F) {
	k := nthKey(f, 1)
	data, err := k.newDataKey(key(9))
	ok(f, err)
	p, err := k.wrap(data)
	ok(f, err)
	f.Add(p)
	f.Add(p[:100])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, q []byte) {
		w := parseWrapping("KEY-000001", q)
		if w.raw == nil && w.unreadable == nil {
			return // never complete
		}
		got, err := w.open(k)
		if err == nil && !bytes.Equal(got.secret, data.secret) {
			t.Error("another key")
		}
		if err == nil && !bytes.Equal(q, p) && bytes.Equal(q[:wrapSumAt], p[:wrapSumAt]) {
			t.Error("the checksum does not count")
		}
	})
}
