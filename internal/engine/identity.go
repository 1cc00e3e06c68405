package engine

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
)

// NewIdentity returns the identity of a new database: a random number that all its files carry.
func NewIdentity() (id [16]byte, err error) {
	_, err = rand.Read(id[:])
	return id, err
}

// NewBranch returns the branch of a new database, or of a copy that goes its own way: a random
// number that is never 0, and that takes the same space in all manifests.
func NewBranch() (uint64, error) {
	const fixed = 1 << 62
	var p [8]byte
	_, err := rand.Read(p[:])
	return binary.LittleEndian.Uint64(p[:])>>2 | fixed, err
}

// Database returns the identity of the database, which its backups share.
func (e *Engine) Database() [16]byte { return e.database }

// Branch returns a number that distinguishes the commits of this database from those of copies that
// went their own way or were restored. A backup that is opened for writing gets another one each
// time, until the first write makes it permanent.
func (e *Engine) Branch() uint64 { return e.lineage.Load().branch }

// branchBits is how many of the low bits distinguish a branch from the one that it comes from.
// Unrelated branches may share them, though hardly ever do.
const branchBits = 15

// NewBranchOff is [NewBranch] for a copy whose positions must not be taken for those of the branch
// that it comes from.
func NewBranchOff(from uint64) (branch uint64, err error) {
	for branch = from; err == nil && (branch^from)&(1<<branchBits-1) == 0; {
		branch, err = NewBranch()
	}
	return branch, err
}

// branchOver returns the branch of what is to be committed on top of version.
func branchOver(version *manifest.Version) (branch uint64, err error) {
	if !version.Backup {
		return version.Branch, nil
	}
	return NewBranchOff(version.Branch)
}

// leaveBackup makes durable that the database is no longer a backup, if it was one. This comes
// before its first log segment, which belongs to another branch.
func (e *Engine) leaveBackup() error {
	if e.state.Load().Levels.Version.Branch == e.Branch() {
		return nil
	}
	err := e.installEdit(new(manifest.Edit), func(*superversion.Superversion) {})
	if err == nil {
		e.spawn(e.startJobs) // the writer holds locks
	}
	return err
}
