package engine

import (
	"math"
	"slices"
)

// Position is a commit of a branch, as one number that users may store.
type Position uint64

// commitBits is the number of low bits of a position that hold its commit number plus 1, so that no
// position is 0. The branch is in the bits above; the highest bit is 0, so a position is a positive
// number in every integer type of 64 bits.
const commitBits = 63 - branchBits

// PositionOf returns the position of a commit of a branch.
func PositionOf(branch, commit uint64) Position {
	return Position(branch&(1<<branchBits-1)<<commitBits | commit + 1)
}

// Commit returns the number of the position's commit.
func (p Position) Commit() uint64 { return uint64(p)&(1<<commitBits-1) - 1 }

func (p Position) isOf(branch uint64) bool { return p == PositionOf(branch, p.Commit()) }

// Ended is a branch from whose last commit another one goes on.
type Ended struct {
	Branch uint64
	Last   uint64 // its last commit that counts
}

// lineage is where the commits come from. Immutable.
type lineage struct {
	branch uint64  // of the newest commits
	ended  []Ended // those before it, the oldest first
}

// PositionOf returns the position of a commit that is visible.
func (e *Engine) PositionOf(commit uint64) Position { return PositionOf(e.Branch(), commit) }

// Standing is what a position is to an engine.
type Standing int

// Standings of positions.
const (
	Unknown Standing = iota // of a branch of which the engine has no commit
	Lost                    // of a branch that has ended before
	Ahead                   // not visible yet
	Visible
)

// Standing returns what a position is at present. Once it is Lost or Visible, it stays so.
func (e *Engine) Standing(p Position) Standing {
	visible := e.Visible() // before the lineage, which is never older than what is visible
	from := e.lineage.Load()
	switch last, known := from.last(p); {
	case !known:
		return Unknown
	case p.Commit() > last:
		return Lost
	case p.Commit() > visible:
		return Ahead
	}
	return Visible
}

// last returns the last commit of the branch of a position, or of the newest branch with its name.
func (l *lineage) last(p Position) (last uint64, known bool) {
	if p.isOf(l.branch) {
		return math.MaxUint64, true
	}
	for _, b := range slices.Backward(l.ended) {
		if p.isOf(b.Branch) {
			return b.Last, true
		}
	}
	return 0, false
}
