package engine

import (
	"context"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Shipper keeps a copy of the database elsewhere up to date. It gets the commits from [Follow], and
// the files from [Engine.Hold]. Its methods may be called by several goroutines.
type Shipper interface {
	// Claim is called once while the database is opened, with its lock held and before anything in
	// the folder changes. The database is not opened if it returns an error. Otherwise files get
	// numbers from first on, so that no two claimants ever use one number.
	Claim(f Found) (first uint64, err error)
	// Admit is called before each transaction, with no lock held, and returns when it may begin. It
	// may wait, until ctx ends. The transaction fails with its error.
	Admit(ctx context.Context) error
	// Installed is called when the version has changed, which [Engine.Hold] then returns. Locks that
	// commits need may be held, so it must neither wait nor call back.
	Installed()
	// Withholds reports whether readers see a commit, and its caller goes on, only once it was
	// passed to [Engine.Acknowledge]. It is always the same.
	Withholds() bool
}

// Found is what a folder holds when its database is opened.
type Found struct {
	Folder   vfs.Folder
	Dir      string // the path that Folder was opened by
	Database [16]byte
	Branch   uint64 // of its commits
	Commit   uint64 // the newest one
	New      bool   // there was no database, and Database and Branch are drawn for a new one
}

// claim lets the shipper have its say in what is to be opened.
func (s *recovered) claim(shipper Shipper) error {
	first, err := shipper.Claim(Found{
		Folder: s.folder, Dir: s.dir, Database: s.database, Branch: s.branch, Commit: s.lastCommit,
		New: s.standing == blank,
	})
	s.nextNumber = max(s.nextNumber, first)
	return err
}

// Held is a version whose files are not removed until it is released, or the engine is closed. Safe
// for concurrent use.
type Held struct {
	Version *manifest.Version // immutable
	engine  *Engine
	release func()
}

// Hold returns the newest version.
func (e *Engine) Hold() *Held {
	p, release := e.freeze(false)
	return &Held{p.version, e, release}
}

// Open opens a file that the version names, for reading.
func (h *Held) Open(kind folder.Kind, number uint64) (vfs.File, error) {
	return h.engine.folder.Open(filepath.Join(h.engine.dir, kind.Name(number)))
}

// Release lets the files go. It is to be called once.
func (h *Held) Release() { h.release() }
