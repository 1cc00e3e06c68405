package flush

import (
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Config returns the configuration of a run that is likely to stay as it is, or of one that a
// compaction will rewrite. drop is the buckets that are dropped with it.
func (j Job) Config(stays bool, drop []uint64) run.Config {
	output := j.Output
	output.Filter = !stays
	output.Compress = j.CompressYoung || stays && j.CompressBottom
	output.Dictionaries = j.Levels.Dictionaries()
	version := j.Levels.Version
	output.DropEpoch = version.DropEpoch
	if len(drop) > 0 {
		output.DropEpoch++
	}
	if len(drop)+len(version.Dropped) > 0 {
		now := make(map[uint64]bool, len(drop))
		for _, id := range drop {
			now[id] = true
		}
		output.Dropped = func(id uint64) bool { return now[id] || version.IsDropped(id) }
	}
	return output
}

// dropped returns what Drop says; see [superversion.Superversion.Dropped].
func (j Job) dropped() (ids []uint64, err error) {
	if j.Drop != nil {
		return j.Drop()
	}
	snapshot := &superversion.Superversion{Mem: j.Root, Levels: j.Levels}
	for id, err := range snapshot.Dropped() {
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
