package flush

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// destination is where new tables go, depending on what is already between their keys.
type destination uint8

const (
	// amongOthers is a young run that a compaction will rewrite.
	amongOthers destination = iota
	// inGap is a young run where no run has or deletes anything. It is written like the bottom run,
	// once and compressed, and a compaction moves it there as it is. It cannot join the bottom run
	// at once, because a compaction in progress may write a table across the gap.
	inGap
	// beyondAll is the bottom run, for keys below or above all others. A compaction would put them
	// there anyway: keys that only grow are written once.
	beyondAll
)

// stays reports whether the tables are likely to stay as they are. Nothing older lies between their
// keys, so tombstones and deleted ranges have nothing to hide.
func (d destination) stays() bool { return d != amongOthers }

// destination returns where tables with keys from first to last go.
func (j Job) destination(first, last []byte) destination {
	if j.Levels.Outside(first, last) {
		return beyondAll
	}
	if j.Far != nil && slices.ContainsFunc(j.Levels.Around(first), j.Far) {
		return amongOthers
	}
	gap := false
	err := vfs.CatchFaults(func() error {
		end, ok, err := j.Levels.Gap(first)
		gap = ok && (end == nil || bytes.Compare(last, end) < 0)
		return err
	})
	if gap && err == nil {
		return inGap
	}
	return amongOthers // also if a table cannot be read, which is no reason for a flush to fail
}

// mixed reports whether much of the memtable is of different buckets, as it is if a transaction
// stores records with indexes: more of them have keys in each bucket, and what comes behind one is
// before the next. Where most keys are of one bucket, they may ascend.
func (j Job) mixed() bool {
	n := j.Root.Len()
	if n == 0 {
		return false
	}
	low, _ := keyspace.BucketOf(j.Root.Key(n / 4))
	high, _ := keyspace.BucketOf(j.Root.Key(n * 3 / 4))
	return low != high
}

// evenly returns a table size near the wanted one that divides so many bytes into tables of equal
// size: a small table at the end would lie alone, and stay.
func evenly(want, bytes int64) int64 {
	const slack = 16 // for what a table has besides keys and values, as a divisor
	if want <= 0 || bytes <= want {
		return want
	}
	n := (bytes + want/2) / want
	return bytes/n + bytes/n/slack + 1
}
