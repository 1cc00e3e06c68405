package torture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// backups commits random transactions and makes a backup after every few. Each backup must equal
// the newest state.
func backups(r *runner) error {
	p, target := r.generator(), memfs.New()
	p.keys, p.long = 64, true
	return times(20, func(i int) error {
		err := r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(15)) })
		err = errors.Join(err, every(4, i, func() error { return r.backup(target) }))
		return errors.Join(err, every(15, i, r.reopen))
	})
}

// backup makes a backup and compares it with the newest state.
func (r *runner) backup(target vfs.FS) error {
	p := r.line.Promised(crash.All)
	if err := tuned.Backup(context.Background(), r.db, target, "db", false); err != nil {
		return r.tolerate(err)
	}
	_, err := r.line.matchBackup(target, p)
	return err
}

// matchBackup returns which of the promised states the backup in the folder "db" equals.
func (l *timeline) matchBackup(target vfs.FS, p crash.Promise) (int, error) {
	got, err := dumpBackup(target, l.clock)
	if err != nil {
		return 0, err
	}
	return l.match(got, p, l.clock)
}

// dumpBackup returns the contents of the backup in the folder "db".
func dumpBackup(target vfs.FS, clock *model.Clock) (*model.Bucket, error) {
	db, got, err := recovered(target, workload{options: stoat.Options{ReadOnly: true}}, clock)
	if err != nil {
		return nil, fmt.Errorf("the backup: %w", err)
	}
	return got, db.Close()
}

// TestBackup_isTheNewestState makes backups during random histories: into folders with and without
// an earlier backup, of writable and of read-only databases, with and without links.
func TestBackup_isTheNewestState(t *testing.T) {
	t.Parallel()
	t.Logf("trust: %d histories", eachHistory(t, 2, backupHistory))
}

func backupHistory(seed uint64) error {
	line := newTimeline()
	p := newGenerator(seed, line.clock)
	disk := memfs.New()
	r := &runner{
		workload: workload{options: *randomOptions(p.rng), tuning: randomTuning(p.rng, line.clock)},
		fs:       disk, line: line,
		tolerate: func(err error) error { return err },
	}
	if err := r.open(); err != nil {
		return err
	}
	others := memfs.New()
	err := times(10+p.rng.IntN(30), func(i int) error {
		err := times(1+p.rng.IntN(4), func(int) error {
			return r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(30)) })
		})
		switch {
		case err != nil:
		case p.chance(6):
			err = r.reopen()
		case p.chance(6):
			err = r.compactFor(1 + p.rng.IntN(100))
		case p.chance(3):
			err = r.backupReader(others)
		case p.chance(3):
			err = r.backup(others)
		case p.chance(6):
			others = memfs.New()
		case p.chance(4):
			dir := []string{"linked", "linked too"}[p.rng.IntN(2)]
			err = tuned.Backup(context.Background(), r.db, disk, dir, true)
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		return nil
	})
	return errors.Join(err, r.close())
}

// backupReader makes a backup through a read-only database beside the writer and compares it with
// the newest state.
func (r *runner) backupReader(target vfs.FS) error {
	p := r.line.Promised(crash.All)
	if err := r.tryBackupReader(target); err != nil {
		return err
	}
	_, err := r.line.matchBackup(target, p)
	return err
}

// tryBackupReader makes a backup through a read-only database. It reopens that database if the
// writer has replaced files.
func (r *runner) tryBackupReader(target vfs.FS) error {
	options := r.options
	options.ReadOnly = true
	err := fs.ErrNotExist
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 20; tries++ {
		var reader *stoat.DB
		if reader, err = tuned.Open(r.fs, "db", &options, r.tuning); err != nil {
			return err
		}
		err = errors.Join(tuned.Backup(context.Background(), reader, target, "db", false), reader.Close())
	}
	return err
}

func TestBackupLinked_sharesItsFilesAndNoCopyTakesThemOver(t *testing.T) {
	db, disk, _ := wantsBackup(t)
	ok(t, tuned.Backup(context.Background(), db, disk, "linked", true))
	ok(t, tuned.Backup(context.Background(), db, disk, "linked", true))
	names, err := disk.List("linked")
	ok(t, err)
	own, err := disk.OpenFolder("db")
	ok(t, err)
	linked, err := disk.OpenFolder("linked")
	ok(t, err)
	shared := 0
	for _, name := range names {
		if own.Same("db/"+name, linked, "linked/"+name) {
			shared++
			equal(t, strings.HasSuffix(name, ".log"), false)
		}
	}
	if shared == 0 {
		t.Errorf("of %q none is shared", names)
	}
	err = tuned.Backup(context.Background(), db, disk, "linked", false)
	if err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a backup into one of links gives %v", err)
	}
}

func TestBackup_endsWithItsContext(t *testing.T) {
	db, _, target := wantsBackup(t)
	ok(t, db.Put([]byte("new"), []byte("value")))
	ctx, cancel := context.WithCancel(t.Context())
	copied := target.CrashKeepAll()
	slow := faultfs.New(copied, func(op faultfs.Op) error {
		if op.Kind == faultfs.Create {
			cancel()
		}
		return nil
	})
	wantErr(t, tuned.Backup(ctx, db, slow, "db", false), context.Canceled)
	wantUnchanged(t, copied, target)
	fresh := memfs.New()
	wantErr(t, tuned.Backup(ctx, db, fresh, "db", false), context.Canceled)
	if _, err := fresh.List("db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is made for nothing: %v", err)
	}
}

func TestBackup_endsWhenTheDatabaseCloses(t *testing.T) {
	disk, target := memfs.New(), memfs.New()
	s := newBackupSteps(t, disk)
	ok(t, s.change("first"))
	closed := make(chan error, 1)
	var once sync.Once
	slow := faultfs.New(target, func(op faultfs.Op) error {
		if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
			once.Do(func() {
				go func() { closed <- s.r.db.Close() }()
				for s.r.db.View(func(*stoat.Tx) error { return nil }) == nil {
					runtime.Gosched()
				}
			})
		}
		return nil
	})
	err := tuned.Backup(context.Background(), s.r.db, slow, "db", false)
	if err != nil { // the backup may have finished before
		wantErr(t, err, stoat.ErrClosed)
	}
	ok(t, <-closed)
	ok(t, clean(disk))
	wantErr(t, tuned.Backup(context.Background(), s.r.db, target, "db", false), stoat.ErrClosed)
}

// TestBackup_besideAWriter makes backups during commits, flushes, compactions and reclaiming. Each
// must equal the state after a commit, none older than what was acknowledged before.
func TestBackup_besideAWriter(t *testing.T) {
	tuning := scattered
	disk, target := memfs.New(), memfs.New()
	r := &runner{
		workload: workload{options: unsyncedOutside, tuning: tuning}, fs: disk, line: newTimeline(),
		tolerate: func(err error) error { return err },
	}
	ok(t, r.open())
	var stop atomic.Bool
	failed := make(chan error, 1)
	go func() {
		p := newGenerator(crashes.Seed, model.NewClock())
		p.keys = 64
		var err error
		for err == nil && !stop.Load() {
			err = r.update(func(t twin) error {
				return times(8, func(k int) error { return t.put(p.key(), p.value()) })
			})
		}
		failed <- err
	}()
	for i := range 12 {
		var err error
		for r.line.Acked() < 15*i && len(failed) == 0 {
			runtime.Gosched()
		}
		p := r.line.Promised(crash.All)
		if i%3 == 2 {
			err = r.tryBackupReader(target)
		} else {
			err = tuned.Backup(context.Background(), r.db, target, "db", false)
		}
		p.Newest = r.line.Begun()
		if err == nil {
			_, err = r.line.matchBackup(target, p)
		}
		if err != nil {
			t.Errorf("backup %d: %v", i, err)
			break
		}
	}
	stop.Store(true)
	ok(t, <-failed)
	if s := r.db.Stats(); s.Merges == 0 || s.BackupKept == 0 {
		t.Errorf("nothing happened meanwhile: %+v", s)
	}
	ok(t, r.close())
	ok(t, clean(disk))
}
