package stoat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Backup makes the directory dir a copy of the database: one that can be opened by itself, with
// everything committed before the call and, of what is committed meanwhile, everything up to some
// commit. Readers and writers go on; only at its start it waits, as [DB.Flush] does, for the
// writable transaction that is open. To restore a backup, back it up to a new directory, or use
// "stoat restore".
//
// If dir holds an earlier backup of this database, only what is new is copied. The files that are
// there already are compared byte by byte. If one differs because it has rotted, in the backup or
// in the database, the error matches [ErrCorrupt] and says which of the two it is. A directory that
// is missing is made; one with anything else in it is left alone.
//
// A backup that is written to is a backup no more but a database that goes its own way, as one that
// was restored does. A backup of one of the two is not brought up to date with the other: Backup
// returns an error, and needs another directory. Opening a backup changes nothing in this.
//
// The backup is read and verified as a whole before it counts. On error, and when ctx ends, or the
// system crashes, dir is still the earlier backup, or already the new one.
//
// A database that is open read-only can be backed up, too. If another process has written to it
// since, files may be gone. Then the error matches fs.ErrNotExist: open the database again, and try
// again. A poisoned database is backed up as readers see it.
func (db *DB) Backup(ctx context.Context, dir string) error { return db.backup(ctx, dir, false) }

// BackupLinked is [DB.Backup], except that tables are not copied but get a second name in dir (a
// hard link), if the file system has that and dir is on the same one. It takes an instant, and no
// space until the database replaces its tables. It guards against mistakes, of users and programs.
// But it is verified only in so far as its files can be opened, and a byte that rots on the disk
// rots in both. So Backup refuses a directory with such files.
func (db *DB) BackupLinked(ctx context.Context, dir string) error {
	return db.backup(ctx, dir, true)
}

func (db *DB) backup(ctx context.Context, dir string, link bool) error {
	if dir == "" {
		return fmt.Errorf("back up: no directory is named: %w", fs.ErrInvalid)
	}
	resolved, err := resolve(dir)
	if err != nil {
		return err
	}
	return backupTo(ctx, db, vfs.OS(), resolved, link)
}

// resolve returns where a directory that may be missing is or would be, without symbolic links, so
// that the directories above it are those that it lies in.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		there, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(there, strings.TrimPrefix(dir, at)), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
	}
}

// backupTo is Backup, or BackupLinked, to any file system; internal/testing/tuned calls it by its
// name.
func backupTo(ctx context.Context, db *DB, fs vfs.FS, dir string, link bool) error {
	return db.engine.Backup(ctx, fs, dir, link)
}

// BackupTo writes a copy of the database to w, as one stream: everything committed before the call
// and, of what is committed meanwhile, everything up to some commit. [RestoreFrom] and "stoat
// restore -" make a database of it. Like [DB.Backup] it lets readers and writers go on, only waits
// at its start for the writable transaction that is open, and makes no temporary copy: the files it
// reads stay on disk until it ends.
//
// All is verified when it is read and, with checksums, when it is restored. The end of the stream
// makes a backup of it: after an error, or if it is cut off, what was written is none. Closing the
// database ends BackupTo with [ErrClosed]. Neither that nor the end of ctx can wake a Write of w
// that waits; w's own deadline can.
//
// The stream is a tar archive of the files of a database: extracted into an empty directory they
// are one, if the stream is complete. As with Backup, what was restored and written to goes its own
// way. What is in memory of a read-only or poisoned database is made into tables in memory.
func (db *DB) BackupTo(ctx context.Context, w io.Writer) error {
	return db.engine.BackupTo(ctx, w, memfs.New())
}

// RestoreFrom makes dir, a directory that is missing or empty, a database of what [DB.BackupTo] has
// written. All of it is verified before it counts: if the stream was cut off or is damaged, the
// error matches [ErrCorrupt], and if it is no backup, or one of a newer version of Stoat,
// [ErrFormat]. After an error, and when ctx ends or the system crashes meanwhile, dir holds nothing
// that opens as a database. It reads r up to the end of the backup.
func RestoreFrom(ctx context.Context, r io.Reader, dir string) error {
	if dir == "" {
		return fmt.Errorf("restore: no directory is named: %w", fs.ErrInvalid)
	}
	resolved, err := resolve(dir)
	if err != nil {
		return err
	}
	return restoreFrom(ctx, r, vfs.OS(), resolved)
}

// restoreFrom is RestoreFrom on any file system; internal/testing/tuned calls it by its name.
func restoreFrom(ctx context.Context, r io.Reader, fs vfs.FS, dir string) error {
	if err := engine.Restore(ctx, r, fs, dir); err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	return nil
}
