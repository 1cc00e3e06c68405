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
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Backup makes the directory dir a copy of the database that can be opened by itself. The copy
// holds everything committed before the call and, of what is committed during the backup,
// everything up to some commit. Readers and writers continue; only at its start does Backup wait,
// as [DB.Flush] does, for the open writable transaction. To restore a backup, back it up to a new
// directory or use "stoat restore".
//
// If dir holds an earlier backup of this database, Backup copies only what is new and compares the
// existing files byte by byte. If one differs because it has rotted, in the backup or in the
// database, the error matches [ErrCorrupt] and says which of the two it is. A missing directory is
// created; a directory that contains anything else is left untouched.
//
// Writing to a backup, restored or not, makes it a database with a history of its own. Backup does
// not update a backup of one history from the other: it returns an error, and needs another
// directory. Merely opening a backup changes nothing.
//
// Backup reads back and verifies the whole backup before it counts. After an error, when ctx is
// done, or after a crash, dir holds either the earlier backup or the new one.
//
// A backup of an encrypted database is encrypted, too, with the same [Options.Key];
// [DB.BackupWithKey] chooses another.
//
// A database opened read-only can be backed up too. If another process has written to it since,
// files may be gone; the error then matches fs.ErrNotExist: reopen the database and try again. A
// poisoned database is backed up as readers see it.
func (db *DB) Backup(ctx context.Context, dir string) error {
	return db.backup(ctx, dir, false, db.like)
}

// BackupWithKey is [DB.Backup], but encrypts the backup with another [Options.Key], or not at all
// if key is nil. So it encrypts a database that is not encrypted, and renews the key of the data,
// which [Rekey] does not. A later backup to dir needs the same key.
func (db *DB) BackupWithKey(ctx context.Context, dir string, key []byte) error {
	if key == nil {
		return db.backup(ctx, dir, false, func(files vfs.FS) vfs.FS { return files })
	}
	k, err := namedKey("key", key)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return db.backup(ctx, dir, false, func(files vfs.FS) vfs.FS { return cryptfs.New(files, k) })
}

// BackupLinked is [DB.Backup], but gives tables a second name in dir (a hard link) instead of
// copying them, if the file system supports that and dir is on the same one. It is almost instant,
// and takes no space until the database replaces its tables. It protects against mistakes of users
// and programs. But it is verified only in that its files can be opened, and a byte that rots on
// the disk rots in both copies. For that reason, Backup refuses a directory with linked files.
func (db *DB) BackupLinked(ctx context.Context, dir string) error {
	return db.backup(ctx, dir, true, db.like)
}

// backup makes a backup on the file system that over returns for that of the directory.
func (db *DB) backup(
	ctx context.Context, dir string, link bool, over func(vfs.FS) vfs.FS,
) error {
	if dir == "" {
		return fmt.Errorf("back up: the directory name is empty: %w", fs.ErrInvalid)
	}
	files, dir, err := target(ctx, dir)
	if err != nil {
		return err
	}
	return db.engine.Backup(ctx, over(files), dir, link)
}

// target returns the file system on which a backup or what is restored goes to dir, and the path of
// dir there.
func target(ctx context.Context, dir string) (files vfs.FS, path string, err error) {
	if settings, ok := hook.From(ctx); ok {
		return settings.FS, dir, nil
	}
	path, err = resolve(dir)
	return vfs.OS(), path, err
}

// resolve returns the absolute path of dir, which may be missing, without symbolic links, so that
// its parents are the directories that really contain it.
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

// BackupTo writes a copy of the database to w as a single stream. The copy holds everything
// committed before the call and, of what is committed during the backup, everything up to some
// commit. [RestoreFrom] and "stoat restore -" turn it into a database. As with [DB.Backup], readers
// and writers continue, except that it waits at its start for the open writable transaction. It
// makes no temporary copy: the files it reads stay on disk until it returns.
//
// All data is verified when it is read and, by checksums, when it is restored. A stream without its
// end, because of an error or because it was cut off, is not a backup. Closing the database ends
// BackupTo with [ErrClosed]. Neither that nor the end of ctx interrupts a blocked Write to w; only
// w's own deadline can.
//
// The stream is a tar archive of a database's files: if complete, it can be extracted into an empty
// directory and opened. As with Backup, a restored copy that is written to has a history of its
// own. In a read-only or poisoned database, BackupTo turns what is in memory into tables, also in
// memory.
//
// The stream of an encrypted database is encrypted, too, with the same [Options.Key];
// [DB.BackupToWithKey] chooses another.
func (db *DB) BackupTo(ctx context.Context, w io.Writer) error {
	if db.sealed == nil {
		return db.engine.BackupTo(ctx, w, memfs.New(), nil)
	}
	seal, err := db.sealed.Sealer()
	if err != nil {
		return err
	}
	return db.engine.BackupTo(ctx, w, memfs.New(), seal)
}

// BackupToWithKey is [DB.BackupTo], but encrypts the stream with another key, or not at all if key
// is nil.
func (db *DB) BackupToWithKey(ctx context.Context, w io.Writer, key []byte) error {
	if key == nil {
		return db.engine.BackupTo(ctx, w, memfs.New(), nil)
	}
	k, err := namedKey("key", key)
	if err != nil {
		return fmt.Errorf("back up to a stream: %w", err)
	}
	seal, err := cryptfs.NewSealer(k)
	if err != nil {
		return err
	}
	return db.engine.BackupTo(ctx, w, memfs.New(), seal)
}

// RestoreFrom creates a database in dir, a missing or empty directory, from a stream written by
// [DB.BackupTo]. It verifies everything first: if the stream was cut off or is damaged, the error
// matches [ErrCorrupt]; if it is not a backup, or is one of a newer version of Stoat, [ErrFormat].
// After an error, when ctx is done, or after a crash, dir holds nothing that opens as a database.
// RestoreFrom reads r up to the end of the backup. An encrypted stream needs [RestoreWithKey].
func RestoreFrom(ctx context.Context, r io.Reader, dir string) error {
	return RestoreWithKey(ctx, r, dir, nil, nil)
}

// RestoreWithKey is [RestoreFrom] for a stream that is encrypted with key, and makes a database
// whose [Options.Key] is newKey: the same, another, or nil for one that is not encrypted. If key is
// nil, the stream must not be encrypted. If key is not the stream's, the error matches [ErrKey].
func RestoreWithKey(ctx context.Context, r io.Reader, dir string, key, newKey []byte) error {
	if dir == "" {
		return fmt.Errorf("restore: the directory name is empty: %w", fs.ErrInvalid)
	}
	files, dir, err := target(ctx, dir)
	if err == nil && newKey != nil {
		files, err = sealedWith("newKey", newKey, files)
	}
	if err == nil {
		err = restore(ctx, r, files, dir, key)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	return nil
}

// restore restores a stream under a key, or nil, to a directory of a file system.
func restore(ctx context.Context, r io.Reader, files vfs.FS, dir string, key []byte) error {
	if key == nil {
		return engine.Restore(ctx, r, files, dir, nil)
	}
	k, err := namedKey("key", key)
	if err != nil {
		return err
	}
	return engine.Restore(ctx, r, files, dir, cryptfs.NewOpener(k))
}
