package stoat_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// keyedStream returns a stream of a database with a key, which is encrypted with the same, and how
// much it holds.
func keyedStream(t testing.TB, opts *stoat.Options) (stream []byte, want int) {
	t.Helper()
	db := openKeyed(t, filepath.Join(t.TempDir(), "db"), opts)
	for n := range 3 {
		fillSecret(t, db, 100*n, 20)
		if n == 1 {
			ok(t, db.Flush())
		}
	}
	var to bytes.Buffer
	ok(t, db.BackupTo(t.Context(), &to))
	want = sum(t, db)
	ok(t, db.Close())
	return to.Bytes(), want
}

// wantRestored wants a database with a key, or none, and so much in it.
func wantRestored(t testing.TB, dir string, key []byte, want int) {
	t.Helper()
	if _, readable := plaintext(t, dir); (len(readable) > 0) != (key == nil) {
		t.Errorf("one can read %q", readable)
	}
	db := openKeyed(t, dir, &stoat.Options{Key: key})
	equal(t, sum(t, db), want)
	ok(t, db.Check(t.Context()))
	fillSecret(t, db, 10_000, 1)
	ok(t, db.Close())
}

func TestBackupTo_encryptsWithTheKeyOfTheDatabase(t *testing.T) {
	stream, want := keyedStream(t, keyed(1))
	if bytes.Contains(stream, []byte(secret)) {
		t.Error("one can read the stream")
	}
	for _, newKey := range [][]byte{nil, keyed(1).Key, keyed(2).Key} {
		dir := filepath.Join(t.TempDir(), "db")
		ok(t, stoat.RestoreWithKey(t.Context(), bytes.NewReader(stream), dir, keyed(1).Key, newKey))
		wantRestored(t, dir, newKey, want)
	}
	extracted := filepath.Join(t.TempDir(), "db") // as the program tar does
	ok(t, os.Mkdir(extracted, 0o700))
	for r := tar.NewReader(bytes.NewReader(stream)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		ok(t, err)
		p, err := io.ReadAll(r)
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(extracted, h.Name), p, 0o600))
	}
	db := openKeyed(t, extracted, keyed(1))
	equal(t, sum(t, db), want)
	ok(t, db.Check(t.Context()))
	ok(t, db.Close())
}

func TestBackupToWithKey_choosesTheKey(t *testing.T) {
	for _, opts := range []*stoat.Options{nil, keyed(1)} {
		db := openKeyed(t, filepath.Join(t.TempDir(), "db"), opts)
		fillSecret(t, db, 0, 20)
		for _, key := range [][]byte{nil, keyed(2).Key} {
			var to bytes.Buffer
			ok(t, db.BackupToWithKey(t.Context(), &to, key))
			equal(t, bytes.Contains(to.Bytes(), []byte(secret)), key == nil)
			dir := filepath.Join(t.TempDir(), "db")
			ok(t, stoat.RestoreWithKey(t.Context(), &to, dir, key, keyed(3).Key))
			wantRestored(t, dir, keyed(3).Key, sum(t, db))
		}
		if db.BackupToWithKey(t.Context(), io.Discard, []byte(secret)) == nil {
			t.Error("a short key is taken")
		}
		ok(t, db.Close())
	}
}

// TestRestoreWithKey_wantsTheKeyOfTheStream wants nothing to be left after an error.
func TestRestoreWithKey_wantsTheKeyOfTheStream(t *testing.T) {
	encrypted, want := keyedStream(t, keyed(1))
	plain, _ := keyedStream(t, nil)
	restore := func(stream, key []byte) error {
		dir := filepath.Join(t.TempDir(), "db")
		err := stoat.RestoreWithKey(t.Context(), bytes.NewReader(stream), dir, key, keyed(2).Key)
		if err == nil {
			wantRestored(t, dir, keyed(2).Key, want)
		} else {
			opts := &stoat.Options{ReadOnly: true, Key: keyed(2).Key}
			if _, openErr := stoat.Open(dir, opts); openErr == nil {
				t.Error("there is a database")
			}
		}
		return err
	}
	wantErr(t, restore(encrypted, nil), stoat.ErrKey)
	wantErr(t, restore(encrypted, keyed(2).Key), stoat.ErrKey)
	wantErr(t, restore(plain, keyed(1).Key), stoat.ErrKey)
	for at := 0; at < len(encrypted); at += 1 + len(encrypted)/25 {
		if err := restore(encrypted[:at], keyed(1).Key); !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("cut off at %d: %v", at, err)
		}
		flipped := bytes.Clone(encrypted)
		flipped[at] ^= 0x20
		err := restore(flipped, keyed(1).Key)
		if err != nil && !errors.Is(err, stoat.ErrCorrupt) && !errors.Is(err, stoat.ErrFormat) {
			t.Errorf("a bit at %d: %v", at, err)
		}
	}
}
