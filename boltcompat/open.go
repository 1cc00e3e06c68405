package boltcompat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
)

// Open opens the database in the directory at path, which it creates if there is none; the parent
// must exist. The mode has no effect: only the owner can read a database. Nil options stand for
// [DefaultOptions].
//
// If there is a file instead, Open makes a database of what [Tx.WriteTo] or [Tx.CopyFile] wrote,
// which takes the place of the file, and of an empty file. A file of bbolt, or any other, is left
// alone; the error matches [ErrInvalid].
func Open(path string, mode os.FileMode, options *Options) (*DB, error) {
	if options == nil {
		options = DefaultOptions
	}
	db := &DB{
		NoSync: options.NoSync, unsynced: options.NoSync, NoGrowSync: options.NoGrowSync,
		MmapFlags: options.MmapFlags, NoFreelistSync: options.NoFreelistSync,
		PreLoadFreelist: options.PreLoadFreelist || !options.ReadOnly,
		FreelistType:    options.FreelistType, Mlock: options.Mlock, MaxSize: options.MaxSize,
		MaxBatchSize: defaultBatchSize, MaxBatchDelay: defaultBatchDelay, AllocSize: defaultAllocSize,
		readOnly: options.ReadOnly, path: path, pageSize: options.PageSize, logger: options.Logger,
		counted: !options.NoStatistics,
	}
	if db.pageSize == 0 {
		db.pageSize = os.Getpagesize()
	}
	err := db.open(options)
	if err != nil {
		db.Logger().Errorf("Opening the database %s failed: %v", path, err)
		return nil, translate(err)
	}
	db.Logger().Infof("Opened the database %s with the options %s", path, options)
	return db, nil
}

// open opens what is at the database's path.
func (db *DB) open(options *Options) error {
	dir, err := db.directory(options)
	if err != nil {
		return err
	}
	if db.in, err = stoat.Open(dir, options.stoat()); err != nil {
		db.removeScratch()
		return err
	}
	if !db.readOnly {
		// A crash may have left them. Nobody else needs them now.
		_, _ = os.RemoveAll(copies(db.path)), os.RemoveAll(restored(db.path))
	}
	return nil
}

// directory returns the directory of the database, which it makes if there is a file that can
// become one.
func (db *DB) directory(options *Options) (string, error) {
	if db.path == "" {
		return "", fmt.Errorf("open: the path is empty: %w", fs.ErrInvalid)
	}
	info, err := os.Stat(db.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return db.path, db.missing(err)
	case err != nil:
		return "", err
	case info.IsDir():
		return db.path, nil
	}
	dir, err := db.fromFile(options)
	if err == nil {
		return dir, nil
	}
	info, now := os.Stat(db.path) // another process may have put a database in the file's place
	switch {
	case now == nil && info.IsDir():
		return db.path, nil
	case errors.Is(now, fs.ErrNotExist):
		return db.path, db.missing(err)
	}
	return "", err
}

// missing prepares to create the database. It returns the error for a path that does not exist if
// the database may not be created, or not there.
func (db *DB) missing(err error) error {
	if db.readOnly {
		return err
	}
	if done, err := finish(db.path); done || err != nil {
		return err
	}
	_, err = os.Stat(filepath.Dir(db.path))
	return err
}

// fromFile makes a database of the file at the path, if it can be one.
func (db *DB) fromFile(options *Options) (string, error) {
	f, err := os.Open(db.path)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read from; again if it is to be removed, which Windows refuses before
	kind, err := kindOf(f)
	switch {
	case err != nil:
		return "", err
	case kind == boltFile:
		return "", fmt.Errorf("%s is a file of bbolt: import it with \"stoat import -bolt %s NEWDIR\", "+
			"and put the new directory in its place: %w", db.path, db.path, ErrInvalid)
	case kind == emptyFile && !db.readOnly:
		_ = f.Close() // only read from
		return db.path, os.Remove(db.path)
	case kind != streamFile:
		return "", ErrInvalid
	case db.readOnly:
		return db.restoreAside(f)
	}
	return db.path, restoreOver(f, db.path, options.stoat().LockTimeout)
}

// fileKind is what a file at the path of a database is.
type fileKind uint8

const (
	foreignFile fileKind = iota
	emptyFile
	boltFile
	streamFile // written by WriteTo
)

// Where files say what they are.
const (
	boltMagic     = 0xED0CDAED
	boltMagicAt   = 16 // behind the header of the first page
	tarMagic      = "ustar"
	tarMagicAt    = 257
	bytesThatTell = tarMagicAt + len(tarMagic)
)

// kindOf finds out what a file is, and leaves it at its start.
func kindOf(f io.ReadSeeker) (fileKind, error) {
	head := make([]byte, bytesThatTell)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return foreignFile, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return foreignFile, err
	}
	head = head[:n]
	switch {
	case n == 0:
		return emptyFile, nil
	case n >= boltMagicAt+4 && (binary.LittleEndian.Uint32(head[boltMagicAt:]) == boltMagic ||
		binary.BigEndian.Uint32(head[boltMagicAt:]) == boltMagic):
		return boltFile, nil
	case n == bytesThatTell && string(head[tarMagicAt:]) == tarMagic:
		return streamFile, nil
	}
	return foreignFile, nil
}

// restoreAside restores a copy to a temporary directory, which Close removes, and returns it.
func (db *DB) restoreAside(stream io.Reader) (string, error) {
	scratch, err := os.MkdirTemp("", "boltcompat-")
	if err != nil {
		return "", err
	}
	db.scratch = scratch
	dir := filepath.Join(scratch, "db")
	if err := stoat.RestoreFrom(context.Background(), stream, dir); err != nil {
		db.removeScratch()
		return "", err
	}
	return dir, nil
}

// removeScratch removes the temporary directory, if there is one, after something else has failed.
func (db *DB) removeScratch() {
	if db.scratch != "" {
		_ = os.RemoveAll(db.scratch) // it is in the system's directory for what may be removed
	}
}
