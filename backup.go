package stoat

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/vfs"
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

// backupTo is Backup, or BackupLinked, to any file system; internal/tuned calls it by its name.
func backupTo(ctx context.Context, db *DB, fs vfs.FS, dir string, link bool) error {
	return db.engine.Backup(ctx, fs, dir, link)
}
