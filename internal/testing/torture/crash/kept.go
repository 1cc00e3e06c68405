package crash

import (
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Kept is how much of the unsynced changes a crash keeps. Random and higher ones keep some.
type Kept int

// What a crash keeps.
const (
	None   Kept = iota
	All         // only the process dies; nothing becomes durable
	Random      // some changes, by chance
)

// AnyKept returns none, all, or a random part.
func AnyKept(rng *rand.Rand) Kept { return Kept(rng.IntN(3)) }

// String returns the part of a crash's name.
func (k Kept) String() string {
	switch k {
	case None:
		return "none"
	case All:
		return "all"
	}
	return fmt.Sprint("random-", int(k))
}

// Of returns a copy of the disk as a crash leaves it. None and All take no random numbers.
func (k Kept) Of(disk *memfs.FS, rng *rand.Rand) *memfs.FS {
	switch k {
	case None:
		return disk.CrashKeepNone()
	case All:
		return disk.Kill()
	}
	return disk.Crash(rng)
}
