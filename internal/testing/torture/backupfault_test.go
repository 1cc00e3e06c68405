package torture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// backupSteps is a database that changes between backups into one folder.
type backupSteps struct {
	r     *runner
	p     *generator
	names []string
}

// logging leaves values in log segments until Compact moves them.
var logging = engine.Tuning{
	MemtableBytes: 8 << 10, SpillBytes: 1 << 20, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 3,
	JournalBytes: 1 << 10, IdleAfter: time.Hour, ValueBytes: 2 << 10,
}

// newBackupSteps returns an open database on the disk with values outside of tables.
func newBackupSteps(t testing.TB, disk vfs.FS) *backupSteps {
	t.Helper()
	s := &backupSteps{r: &runner{
		workload: workload{options: outside, tuning: logging}, fs: disk, line: newTimeline(),
		tolerate: func(err error) error { return err },
	}}
	s.p = newGenerator(crashes.Seed, s.r.line.clock)
	s.p.keys, s.p.long = 64, false
	s.names = []string{"first", "more", "compacted", "through a reader", "after that", "reopened"}
	ok(t, s.r.open())
	return s
}

// change changes the database before a backup.
func (s *backupSteps) change(name string) error {
	err := times(6, func(int) error {
		return s.r.update(func(t twin) error { return s.p.write(t, 12) })
	})
	switch name {
	case "compacted":
		err = errors.Join(err, s.r.compact())
	case "reopened":
		err = errors.Join(err, s.r.reopen())
	}
	return err
}

// backup makes a backup. It may fail; the database may not.
func (s *backupSteps) backup(name string, target vfs.FS) error {
	if name == "through a reader" {
		return s.r.tryBackupReader(target)
	}
	return tuned.Backup(context.Background(), s.r.db, target, "db", false)
}

// eitherBackup checks that the folder holds the earlier or the new backup. Until the first is
// complete, the folder must not open.
func (s *backupSteps) eitherBackup(target vfs.FS, earlier, newest int) error {
	got, err := dumpBackup(target, s.r.line.clock)
	if earlier < 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, stoat.ErrFormat) ||
		errors.Is(err, stoat.ErrCorrupt)) {
		return nil
	}
	if err != nil {
		return err
	}
	if earlier >= 0 && got.Equal(s.r.line.State(earlier).By(s.r.line.clock)) {
		return nil
	}
	_, err = s.r.line.match(got, crash.Promise{Oldest: newest, Newest: newest}, s.r.line.clock)
	return err
}

// TestBackup_crashLeavesTheEarlierOrTheNew crashes the target's file system at each operation.
func TestBackup_crashLeavesTheEarlierOrTheNew(t *testing.T) {
	t.Parallel()
	target := memfs.NewCrashable()
	s := newBackupSteps(t, memfs.New())
	earlier, newest, points := -1, -1, 0
	var failed error
	hook := func(op faultfs.Op) error {
		for kept := range crash.Kept(4) {
			if !op.Kind.Mutates() || failed != nil {
				return nil
			}
			points++
			rng := crash.Rand(crashes.Seed, fmt.Sprint(points))
			left := kept.Of(target, rng)
			if err := s.eitherBackup(left, earlier, newest); err != nil {
				failed = fmt.Errorf("%s, after a crash before %v: %w", kept, op, err)
				return nil
			}
			if rng.IntN(8) > 0 {
				continue
			}
			either := crash.Promise{Oldest: earlier, Newest: newest}
			err := s.failAgain(kept.Of(target, rng), either, rng)
			if err == nil {
				err = tuned.Backup(context.Background(), s.r.db, left, "db", false)
			}
			if err == nil {
				err = s.eitherBackup(left, newest, newest)
			}
			if err != nil {
				failed = fmt.Errorf("%s, a backup after a crash before %v: %w", kept, op, err)
			}
		}
		return nil
	}
	for _, name := range s.names {
		ok(t, s.change(name))
		newest = s.r.line.Begun()
		if err := s.backup(name, faultfs.New(target, hook)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if failed != nil {
			t.Fatalf("backup %q: %v", name, failed)
		}
		ok(t, s.eitherBackup(target.CrashKeepNone(), newest, newest))
		earlier = newest
	}
	ok(t, s.r.close())
	t.Logf("trust: %d crash points", points)
}

// TestBackup_faultLeavesTheEarlierOrTheNew makes operations on the target's file system fail, once
// or from then on.
func TestBackup_faultLeavesTheEarlierOrTheNew(t *testing.T) {
	t.Parallel()
	target := memfs.NewCrashable()
	s := newBackupSteps(t, memfs.New())
	earlier, points := -1, 0
	for _, name := range s.names {
		ok(t, s.change(name))
		either := crash.Promise{Oldest: earlier, Newest: s.r.line.Begun()}
		more := true
		for n := int64(len(name) % 5); more; n += int64(5 * stride(2)) {
			for _, forever := range []bool{false, true} {
				var err error
				points++
				more, err = s.fail(name, target.Kill(), n, forever, either)
				if err != nil {
					t.Fatalf("backup %q, operation %d failed (and all after it: %v): %v", name, n, forever,
						err)
				}
			}
		}
		ok(t, s.backup(name, target))
		earlier = either.Newest
	}
	ok(t, s.r.close())
	t.Logf("trust: %d fault points", points)
}

// fail makes a backup during which operation n fails, and if forever, all later ones; then another
// backup. It reports whether there were that many operations.
func (s *backupSteps) fail(
	name string, target *memfs.FS, n int64, forever bool, either crash.Promise,
) (more bool, err error) {
	broken := breaking(target, n, forever)
	err = s.backup(name, broken)
	switch {
	case err == nil:
		either.Oldest = either.Newest
	case !errors.Is(err, errBroken) && !errors.Is(err, stoat.ErrCorrupt):
		return false, err
	}
	more = err != nil || broken.Count() > n
	if err := s.eitherBackup(target, either.Oldest, either.Newest); err != nil {
		return false, err
	}
	if err := s.eitherBackup(target.CrashKeepNone(), either.Oldest, either.Newest); err != nil {
		return false, fmt.Errorf("after a crash: %w", err)
	}
	rng := crash.Rand(crashes.Seed, fmt.Sprint(name, n, forever))
	if err := s.failAgain(target.Kill(), either, rng); err != nil {
		return false, err
	}
	if err := s.backup(name, target); err != nil {
		return false, fmt.Errorf("another backup: %w", err)
	}
	return more, s.eitherBackup(target, either.Newest, either.Newest)
}

// breaking returns a file system on which operation n fails, and if forever, all later ones.
func breaking(disk vfs.FS, n int64, forever bool) *faultfs.FS {
	return faultfs.New(disk, func(op faultfs.Op) error {
		if op.Index == n || forever && op.Index > n {
			return &faultfs.ShortWrite{Bytes: op.Bytes / 2, Err: errBroken}
		}
		return nil
	})
}

// failAgain makes a backup over the remains of an earlier one that failed or was killed. One of its
// operations fails, and then the system crashes and loses what was visible but never synced.
func (s *backupSteps) failAgain(target *memfs.FS, either crash.Promise, rng *rand.Rand) error {
	const operations = 100 // about
	n := rng.Int64N(operations)
	ctx := context.Background()
	switch err := tuned.Backup(ctx, s.r.db, breaking(target, n, false), "db", false); {
	case err == nil:
		either.Oldest = either.Newest
	case !errors.Is(err, errBroken) && !errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("another backup: %w", err)
	}
	for _, kept := range []crash.Kept{crash.None, crash.Random} {
		left := kept.Of(target, rng)
		err := s.eitherBackup(left, either.Oldest, either.Newest)
		if err == nil {
			err = tuned.Backup(ctx, s.r.db, left, "db", false)
		}
		if err == nil {
			err = s.eitherBackup(left, either.Newest, either.Newest)
		}
		if err != nil {
			return fmt.Errorf("operation %d of another backup failed, then a crash, %s: %w", n,
				kept, err)
		}
	}
	return nil
}

// TestBackup_survivesFaultsOfTheSource makes each operation on the database's file system fail
// during a backup. The backup may fail, but it is never wrong.
func TestBackup_survivesFaultsOfTheSource(t *testing.T) {
	disk := memfs.NewCrashable()
	s := newBackupSteps(t, disk)
	target := memfs.NewCrashable()
	ok(t, s.change("first"))
	earlier := s.r.line.Begun()
	ok(t, s.backup("first", target))
	ok(t, s.change("more"))
	newest := s.r.line.Begun()
	points := 0
	for n, more := int64(0), true; more; n++ {
		points++
		var on atomic.Bool
		var count atomic.Int64
		broken := faultfs.New(disk.CrashKeepAll(), func(op faultfs.Op) error {
			if on.Load() && count.Add(1)-1 == n {
				return errBroken
			}
			return nil
		})
		options, tuning := s.r.options, s.r.tuning
		db, err := tuned.Open(broken, "db", &options, tuning)
		ok(t, err)
		on.Store(true)
		copied := target.CrashKeepAll()
		err = tuned.Backup(context.Background(), db, copied, "db", false)
		on.Store(false)
		more = count.Load() > n
		if err != nil && !errors.Is(err, errBroken) && !errors.Is(err, stoat.ErrCorrupt) {
			t.Fatalf("operation %d: %v", n, err)
		}
		least := earlier
		if err == nil {
			least = newest
		}
		if err := s.eitherBackup(copied, least, newest); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		_ = db.Close() // it may be poisoned
	}
	ok(t, s.r.close())
	t.Logf("trust: %d fault points", points)
}

// TestBackup_refusesWhatIsDamaged flips bytes of the database and of the earlier backup. The error
// must name the file, and the earlier backup must stay.
func TestBackup_refusesWhatIsDamaged(t *testing.T) {
	disk, target := memfs.New(), memfs.New()
	s := newBackupSteps(t, disk)
	ok(t, s.change("first"))
	ok(t, s.r.compact())
	earlier := s.r.line.Begun()
	ok(t, s.backup("first", target))
	ok(t, s.r.close())
	names, err := disk.List("db")
	ok(t, err)
	flipped, found := 0, 0
	for _, name := range names {
		if strings.HasPrefix(name, "MANIFEST") || name == "LOCK" {
			continue
		}
		for part := range 8 {
			flipped++
			damaged := disk.CrashKeepAll()
			flip(t, damaged, "db/"+name, part)
			db, err := tuned.Open(damaged, "db", &s.r.options, s.r.tuning)
			ok(t, err)
			fresh, copied := memfs.New(), target.CrashKeepAll()
			for _, to := range []*memfs.FS{fresh, copied} {
				err := tuned.Backup(context.Background(), db, to, "db", false)
				if err == nil { // the damaged bytes are garbage
					ok(t, s.eitherBackup(to, earlier, earlier))
				} else if !strings.Contains(err.Error(), name) {
					t.Errorf("%s is damaged, and the error is %v", name, err)
				} else {
					found++
				}
			}
			ok(t, s.eitherBackup(fresh, -1, earlier))
			wantUnchanged(t, copied, target)
			_ = db.Close() // it may meet the damage
		}
	}
	if found < flipped*3/2 { // with two backups each
		t.Errorf("of %d flipped bytes, %d are noticed", 2*flipped, found)
	}
	t.Logf("trust: %d flipped bytes", flipped)
}

// flip changes a byte in one eighth of a file.
func flip(t testing.TB, disk vfs.FS, name string, part int) {
	t.Helper()
	f, err := disk.Open(name)
	ok(t, err)
	size, err := f.Size()
	ok(t, err)
	p := make([]byte, size)
	_, err = f.ReadAt(p, 0)
	ok(t, err)
	ok(t, f.Close())
	p[(2*part+1)*len(p)/16] ^= 1
	write(t, disk, name, string(p))
}
