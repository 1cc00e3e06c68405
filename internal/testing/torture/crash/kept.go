package crash

import (
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Kept is what a crash keeps of what was not synced. Random and all higher ones keep some of it.
type Kept int

// What a crash can keep.
const (
	None   Kept = iota
	All         // which is no more durable than before: only the process dies
	Random      // of each change, by chance
)

// AnyKept returns none, all, or a random part.
func AnyKept(rng *rand.Rand) Kept { return Kept(rng.IntN(3)) }

// String returns what names of crashes call it.
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
