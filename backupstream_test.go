package stoat_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// fill writes keys of all sizes, in buckets within buckets, with some that were deleted since.
func fill(t testing.TB, db *stoat.DB) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 6 {
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.CreateBucketIfNotExists([]byte("outer"))
			ok(t, err)
			b, err = b.CreateBucketIfNotExists([]byte("inner"))
			ok(t, err)
			for i := range 20 {
				value := make([]byte, 1<<rng.IntN(15))
				for j := range value[:len(value)/2] {
					value[j] = byte(rng.Uint32())
				}
				ok(t, b.Put(fmt.Appendf(nil, "%d-%02d", n%3, i), value))
			}
			ok(t, tx.PutTTL(fmt.Appendf(nil, "expires %d", n), []byte("value"), time.Hour))
			ok(t, b.Delete(fmt.Appendf(nil, "%d-07", n%2)))
			_, err = b.NextSequence()
			ok(t, err)
		})
	}
}

// streamOf returns a backup of db as a stream.
func streamOf(t testing.TB, db *stoat.DB) []byte {
	t.Helper()
	var stream bytes.Buffer
	ok(t, db.BackupTo(t.Context(), &stream))
	return stream.Bytes()
}

// dumpOf returns all that db holds as text.
func dumpOf(t testing.TB, db *stoat.DB) string {
	t.Helper()
	var text strings.Builder
	view(t, db, func(tx *stoat.Tx) { dumpSpace(t, &text, "", tx) })
	return text.String()
}

func dumpSpace(t testing.TB, text *strings.Builder, path string, s stoat.KeySpace) {
	n, err := s.Sequence()
	ok(t, err)
	fmt.Fprintf(text, "%s: %d\n", path, n)
	for key, value := range s.Scan(stoat.Range{}) {
		fmt.Fprintf(text, "%s %q = %x\n", path, key, value)
	}
	for name := range s.Buckets() {
		dumpSpace(t, text, path+"/"+string(name), bucket(t, s, string(name)))
	}
}

// wantNothing wants a folder in which nothing opens as a database.
func wantNothing(t testing.TB, disk *memfs.FS, what string) {
	t.Helper()
	if db, err := tuned.Open(disk, "db", &stoat.Options{ReadOnly: true}, engine.Tuning{}); err == nil {
		t.Fatalf("%s: a database opens: %+v", what, db.Stats())
	}
}

func TestBackupTo_isRestoredToTheSame(t *testing.T) {
	for i, size := range tuned.Sizes() {
		for _, inMemory := range []bool{false, true} {
			t.Run(fmt.Sprint(i, inMemory), func(t *testing.T) {
				db, err := tuned.Open(memfs.New(), "db", nil, size)
				if inMemory {
					db, err = tuned.OpenMemory(nil, size)
				}
				ok(t, err)
				defer db.Close()
				fill(t, db)
				want, disk := dumpOf(t, db), memfs.New()
				ok(t, tuned.RestoreFrom(t.Context(), bytes.NewReader(streamOf(t, db)), disk, "db"))
				restored := openOn(t, disk, nil)
				equal(t, dumpOf(t, restored), want)
				equal(t, restored.Position() == db.Position(), false)
				ok(t, restored.Check(t.Context()))
				ok(t, restored.Put([]byte("new"), nil))
				again := memfs.New()
				stream := streamOf(t, restored)
				slow := iotest.OneByteReader(bytes.NewReader(stream))
				ok(t, tuned.RestoreFrom(t.Context(), slow, again, "db"))
				ok(t, restored.Close())
				restored = openOn(t, again, &stoat.Options{ReadOnly: true})
				has, err := restored.Get([]byte("new"))
				ok(t, err)
				equal(t, len(has), 0)
				ok(t, restored.Close())
			})
		}
	}
}

func TestBackupTo_ofAnEmptyDatabase(t *testing.T) {
	disk := memfs.New()
	stream := streamOf(t, memory(t))
	ok(t, tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), disk, "db"))
	restored := openOn(t, disk, nil)
	view(t, restored, func(tx *stoat.Tx) { wantKeys(t, tx) })
	ok(t, restored.Close())
}

// TestBackupTo_ofWhatIsInMemoryOnly backs up databases that cannot flush.
func TestBackupTo_ofWhatIsInMemoryOnly(t *testing.T) {
	var broken atomic.Bool
	disk := memfs.New()
	db := openOn(t, faultfs.New(disk, func(op faultfs.Op) error {
		if broken.Load() && op.Kind == faultfs.Sync {
			return errors.New("broken")
		}
		return nil
	}), nil)
	fill(t, db)
	want := dumpOf(t, db)
	killed := openOn(t, disk.Kill(), &stoat.Options{ReadOnly: true})
	broken.Store(true)
	wantErr(t, db.Put([]byte("lost"), nil), stoat.ErrPoisoned)
	for _, from := range []*stoat.DB{db, killed} {
		target := memfs.New()
		ok(t, tuned.RestoreFrom(t.Context(), bytes.NewReader(streamOf(t, from)), target, "db"))
		restored := openOn(t, target, nil)
		equal(t, dumpOf(t, restored), want)
		ok(t, restored.Close())
	}
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	ok(t, killed.Close())
}

func TestBackupTo_isADatabaseWhenExtracted(t *testing.T) {
	db := memory(t)
	fill(t, db)
	dir := t.TempDir()
	archive := tar.NewReader(bytes.NewReader(streamOf(t, db)))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		ok(t, err)
		data, err := io.ReadAll(archive)
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(dir, h.Name), data, os.FileMode(h.Mode)))
	}
	extracted, err := stoat.Open(dir, nil)
	ok(t, err)
	equal(t, dumpOf(t, extracted), dumpOf(t, db))
	ok(t, extracted.Check(t.Context()))
	ok(t, extracted.Close())
}

func TestBackupTo_goesOnWhileFilesAreReplaced(t *testing.T) {
	for _, size := range tuned.Sizes()[:3] {
		disk := memfs.New()
		db, err := tuned.Open(disk, "db", nil, size)
		ok(t, err)
		fill(t, db)
		want, target := dumpOf(t, db), memfs.New()
		r, w := io.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = w.CloseWithError(db.BackupTo(t.Context(), w))
		})
		start := make([]byte, 512)
		_, err = io.ReadFull(r, start)
		ok(t, err)
		fill(t, db)
		ok(t, db.Compact(t.Context()))
		stream := io.MultiReader(bytes.NewReader(start), r)
		ok(t, tuned.RestoreFrom(t.Context(), stream, target, "db"))
		_, err = io.Copy(io.Discard, r)
		ok(t, err)
		wg.Wait()
		restored := openOn(t, target, nil)
		equal(t, dumpOf(t, restored), want)
		ok(t, errors.Join(restored.Close(), db.Close()))
	}
}

func TestRestoreFrom_noticesWhatIsCutOff(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a", "b")
		ok(t, tx.Put([]byte("large"), bytes.Repeat([]byte("x"), 5000)))
	})
	stream := streamOf(t, db)
	whole := bytes.LastIndex(stream, []byte("STOATMAN"))
	for n := 0; n <= whole+40; n += 1 + n%37 {
		disk := memfs.New()
		err := tuned.RestoreFrom(t.Context(), bytes.NewReader(stream[:n]), disk, "db")
		if n >= 512 || n == 0 {
			wantErr(t, err, stoat.ErrCorrupt)
		} else if err == nil {
			t.Fatalf("%d bytes are restored", n)
		}
		wantNothing(t, disk, fmt.Sprintf("%d of %d bytes", n, len(stream)))
		ok(t, tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), disk, "db"))
	}
}

func TestRestoreFrom_noticesDamage(t *testing.T) {
	t.Parallel()
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a", "b")
		ok(t, tx.Put([]byte("large"), bytes.Repeat([]byte("x"), 5000)))
	})
	stream, want := streamOf(t, db), dumpOf(t, db)
	harmless, step := 0, 1
	if testing.Short() {
		step = 7 // so that each bit has its turn
	}
	for i := 0; i < len(stream); i += step {
		damaged := bytes.Clone(stream)
		damaged[i] ^= 1 << (i % 8)
		disk := memfs.New()
		err := tuned.RestoreFrom(t.Context(), bytes.NewReader(damaged), disk, "db")
		switch {
		case err == nil:
			harmless++
			restored := openOn(t, disk, &stoat.Options{ReadOnly: true})
			equal(t, dumpOf(t, restored), want)
			ok(t, restored.Close())
			if stream[i] > '0' { // else it may stand before or behind a number in a header
				t.Fatalf("the byte %#x at %d is changed and nothing said", stream[i], i)
			}
		case !errors.Is(err, stoat.ErrCorrupt) && !errors.Is(err, stoat.ErrFormat):
			t.Fatalf("damage at %d: %v", i, err)
		default:
			wantNothing(t, disk, fmt.Sprintf("damage at %d", i))
		}
	}
	t.Logf("%d of %d bytes are padding", harmless, len(stream)/step)
}

func TestRestoreFrom_refusesWhatIsNoBackup(t *testing.T) {
	archive := func(names ...string) string {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		for _, name := range names {
			text := ""
			if name == "STOAT-BACKUP" {
				text = "Stoat backup, version 1\n"
			}
			ok(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}))
			_, err := io.WriteString(w, text)
			ok(t, err)
		}
		ok(t, w.Close())
		return buf.String()
	}
	newer := strings.Replace(archive("STOAT-BACKUP"), "version 1", "version 2", 1)
	for text, want := range map[string]error{
		strings.Repeat("no archive ", 100):                      stoat.ErrFormat,
		archive("etc/passwd"):                                   stoat.ErrFormat,
		newer:                                                   stoat.ErrFormat,
		archive("STOAT-BACKUP"):                                 stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "../000001.table"):              stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "/000001.table"):                stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "LOCK"):                         stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "000001.table", "000001.table"): stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "MANIFEST-000001"):              stoat.ErrCorrupt,
		archive("STOAT-BACKUP", "000001.table/"):                stoat.ErrCorrupt,
	} {
		disk := memfs.New()
		wantErr(t, tuned.RestoreFrom(t.Context(), strings.NewReader(text), disk, "db"), want)
		wantNothing(t, disk, text[:20])
	}
}

func TestRestoreFrom_leavesWhatIsThere(t *testing.T) {
	stream := streamOf(t, memory(t))
	disk := memfs.New()
	db := openOn(t, disk, nil)
	ok(t, db.Put([]byte("k"), []byte("v-k")))
	ok(t, db.Close())
	if err := tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), disk, "db"); err == nil ||
		!strings.Contains(err.Error(), "choose another directory") {
		t.Errorf("a database is restored over another: %v", err)
	}
	db = openOn(t, disk, nil)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "k") })
	ok(t, db.Close())
	mine := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(mine, "report.txt"), nil, 0o600))
	wantErr(t, stoat.RestoreFrom(t.Context(), bytes.NewReader(stream), mine), stoat.ErrFormat)
}

// writerFunc is a function as a writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBackupTo_endsWithItsWriterContextAndDatabase(t *testing.T) {
	db := memory(t)
	fill(t, db)
	full := len(streamOf(t, db))
	gone := errors.New("the client is gone")
	for after := 0; after < full; after += 1 + full/50 {
		left := after
		wantErr(t, db.BackupTo(t.Context(), writerFunc(func(p []byte) (int, error) {
			if left -= len(p); left < 0 {
				return 0, gone
			}
			return len(p), nil
		})), gone)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var sent bytes.Buffer
	wantErr(t, db.BackupTo(ctx, writerFunc(func(p []byte) (int, error) {
		if sent.Len() > full/2 {
			cancel(gone)
		}
		return sent.Write(p)
	})), gone)
	wantErr(t, tuned.RestoreFrom(t.Context(), &sent, memfs.New(), "db"), stoat.ErrCorrupt)
	wantErr(t, db.BackupTo(t.Context(), writerFunc(func(p []byte) (int, error) {
		return len(p), db.Close() // which does not wait for the client
	})), stoat.ErrClosed)
	wantErr(t, db.BackupTo(t.Context(), io.Discard), stoat.ErrClosed)
}

func TestRestoreFrom_endsWithItsContextAndItsReader(t *testing.T) {
	db := memory(t)
	fill(t, db)
	stream, gone := streamOf(t, db), errors.New("the server is gone")
	disk := memfs.New()
	cut := io.MultiReader(bytes.NewReader(stream[:len(stream)/2]), iotest.ErrReader(gone))
	wantErr(t, tuned.RestoreFrom(t.Context(), cut, disk, "db"), gone)
	wantNothing(t, disk, "a lost connection")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	wantErr(t, tuned.RestoreFrom(ctx, bytes.NewReader(stream), disk, "db"), gone)
	wantNothing(t, disk, "an ended context")
}

func TestBackupTo_sendsNoDamage(t *testing.T) {
	disk := memfs.New()
	db := openOn(t, disk, nil)
	fill(t, db)
	ok(t, db.Close())
	names, err := disk.List("db")
	ok(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".table") {
			damage(t, disk, filepath.Join("db", name))
		}
	}
	db = openOn(t, disk, &stoat.Options{ReadOnly: true})
	var sent bytes.Buffer
	wantErr(t, db.BackupTo(t.Context(), &sent), stoat.ErrCorrupt)
	wantErr(t, tuned.RestoreFrom(t.Context(), &sent, memfs.New(), "db"), stoat.ErrCorrupt)
	ok(t, db.Close())
}

// damage changes a byte in the middle of a file.
func damage(t testing.TB, disk vfs.FS, name string) {
	t.Helper()
	file, err := disk.Open(name)
	ok(t, err)
	size, err := file.Size()
	ok(t, err)
	p := make([]byte, size)
	_, err = file.ReadAt(p, 0)
	ok(t, err)
	ok(t, errors.Join(file.Close(), disk.Remove(name)))
	p[size/2] ^= 1
	file, err = disk.Create(name)
	ok(t, err)
	_, err = file.WriteAt(p, 0)
	ok(t, errors.Join(err, file.Sync(), file.Close()))
}
