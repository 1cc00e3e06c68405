package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Shipper keeps a copy of the database elsewhere up to date. It gets the commits from [Follow], and
// the files from [Engine.Hold]. Its methods may be called by several goroutines.
type Shipper interface {
	// Claim is called once while the database is opened, with its lock held and before anything in
	// the folder changes. The database is not opened if it returns an error.
	Claim(f Found) (Claimed, error)
	// Admit is called before each transaction, with no lock held, and returns when it may begin. It
	// may wait, until ctx ends. The transaction fails with its error.
	Admit(ctx context.Context) error
	// Installed is called when the version has changed, which [Engine.Hold] then returns. Locks that
	// commits need may be held, so it must neither wait nor call back.
	Installed()
	// Room is asked before each compaction, with no lock held, whether it may begin: it writes about
	// so many bytes, which the folder has to keep until they are copied, too. If not, Room is asked
	// again a little later. The version is the newest one.
	Room(v *manifest.Version, bytes int64) bool
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
	Version  *manifest.Version
	New      bool // there was no database, and Database and Branch are drawn for a new one
}

// Claimed is what a claim says about what comes next.
type Claimed struct {
	First  uint64 // files get numbers from this on, so that no two claimants ever use one number
	Branch uint64 // of the commits, if the claim was made before the folder; 0: as in [Found]
}

// claim lets the shipper have its say in what is to be opened.
func (s *recovered) claim(shipper Shipper) error {
	claimed, err := shipper.Claim(Found{
		Folder: s.folder, Dir: s.dir, Database: s.database, Branch: s.branch, Commit: s.lastCommit,
		Version: s.levels.Version, New: s.standing == blank,
	})
	s.nextNumber = max(s.nextNumber, claimed.First)
	s.branch = cmp.Or(claimed.Branch, s.branch)
	return err
}

// roomEvery is for how long a compaction waits before it asks for room again.
const roomEvery = 100 * time.Millisecond

// hasRoom reports whether a compaction writes nothing, or the shipper, if there is one, lets it
// begin.
func (e *Engine) hasRoom(p pick.Plan) bool {
	s := e.options.Shipper
	return p.Unread || s == nil || s.Room(e.Version(), e.options.Tuning.PartBytes)
}

// awaitRoom returns when a compaction may begin, or why none may any more.
func (e *Engine) awaitRoom(ctx context.Context, p pick.Plan) error {
	for !e.hasRoom(p) {
		e.sleep(roomEvery, ctx.Done())
		if err := cmp.Or(ctx.Err(), e.writable()); err != nil {
			return err
		}
	}
	return nil
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

// Version returns the newest version, whose files may be removed at any moment.
func (e *Engine) Version() *manifest.Version { return e.state.Load().Levels.Version }

// Open opens a file that the version names, for reading.
func (h *Held) Open(kind folder.Kind, number uint64) (vfs.File, error) {
	return h.engine.folder.Open(filepath.Join(h.engine.dir, kind.Name(number)))
}

// Release lets the files go. It is to be called once.
func (h *Held) Release() { h.release() }
