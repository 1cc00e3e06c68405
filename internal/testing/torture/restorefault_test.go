package torture

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// newStream returns a backup as a stream, and its database.
func newStream(t testing.TB) (stream []byte, s *backupSteps) {
	t.Helper()
	s = newBackupSteps(t, memfs.New())
	ok(t, s.change("first"))
	ok(t, s.change("more"))
	var buf bytes.Buffer
	ok(t, s.r.db.BackupTo(t.Context(), &buf))
	return buf.Bytes(), s
}

// restoreAgain checks that the folder holds the whole backup or nothing that opens, into which a
// stream can be restored.
func (s *backupSteps) restoreAgain(t testing.TB, target vfs.FS, stream []byte) error {
	newest := s.r.line.Begun()
	if err := s.eitherBackup(target, -1, newest); err != nil {
		return err
	}
	err := tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), target, "db")
	if got, dumpErr := dumpBackup(target, s.r.line.clock); dumpErr != nil || got == nil {
		return errors.Join(err, dumpErr)
	}
	return s.eitherBackup(target, newest, newest)
}

// TestRestoreFrom_crashLeavesNothingOrAll crashes the file system at each operation of a restore.
func TestRestoreFrom_crashLeavesNothingOrAll(t *testing.T) {
	t.Parallel()
	stream, s := newStream(t)
	target := memfs.NewCrashable()
	points := 0
	var failed error
	hook := func(op faultfs.Op) error {
		for kept := range crash.Kept(4) {
			if !op.Kind.Mutates() || failed != nil {
				return nil
			}
			points++
			left := kept.Of(target, crash.Rand(crashes.Seed, fmt.Sprint(points)))
			if err := s.restoreAgain(t, left, stream); err != nil {
				failed = fmt.Errorf("%s, after a crash before %v: %w", kept, op, err)
			}
		}
		return nil
	}
	ok(t, tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), faultfs.New(target, hook), "db"))
	ok(t, failed)
	newest := s.r.line.Begun()
	ok(t, s.eitherBackup(target.CrashKeepNone(), newest, newest))
	ok(t, s.r.close())
	t.Logf("trust: %d crash points", points)
}

// TestRestoreFrom_faultLeavesNothingOrAll makes operations of a restore fail, once or from then on.
func TestRestoreFrom_faultLeavesNothingOrAll(t *testing.T) {
	t.Parallel()
	stream, s := newStream(t)
	points := 0
	for n, more := int64(0), true; more; n += int64(stride(4)) {
		for _, forever := range []bool{false, true} {
			points++
			target := memfs.NewCrashable()
			broken := breaking(target, n, forever)
			err := tuned.RestoreFrom(t.Context(), bytes.NewReader(stream), broken, "db")
			if err != nil && !errors.Is(err, errBroken) && !errors.Is(err, stoat.ErrCorrupt) {
				t.Fatal(err)
			}
			more = err != nil || broken.Count() > n
			for _, left := range []*memfs.FS{target.CrashKeepNone(), target} {
				if err := s.restoreAgain(t, left, stream); err != nil {
					t.Fatalf("operation %d failed (and all after it: %v): %v", n, forever, err)
				}
			}
		}
	}
	ok(t, s.r.close())
	t.Logf("trust: %d fault points", points)
}
