package pick

import "github.com/stoatdb/stoat/internal/manifest"

// Deferred values are large ones that a flush had no time to compress. The tables that point to
// them are in young runs and not compressed, and the file that they point into is a log segment.
// Values that do not shrink count as deferred if such a flush has left them there, too.

// DeferredBytes returns how many bytes of values the young runs may point to that were deferred.
func DeferredBytes(v *manifest.Version) (n uint64) {
	for _, r := range v.Young {
		for _, t := range r.Tables {
			n += deferredIn(v, t)
		}
	}
	return n
}

// deferredIn is DeferredBytes for one table of a young run.
func deferredIn(v *manifest.Version, t *manifest.Table) (n uint64) {
	if t.Compressed {
		return 0
	}
	for _, share := range t.Values {
		if f, _ := v.ValueFile(share.File); f.Log {
			n += share.Bytes
		}
	}
	return n
}

// deferred picks all young runs if there are deferred values and compacting them into the bottom
// run is little work. Otherwise it picks a young table with deferred values, the oldest first, to
// rewrite it with its values compressed. It stays where it is, so no other table has to be read.
func (p Picker) deferred(v *manifest.Version) (Plan, bool) {
	if !p.Compressed || DeferredBytes(v) == 0 {
		return Plan{}, false
	}
	if next := IntoBottom(v); next.RawBytes(v) <= p.Limits.Deferred && !p.Avoids(next, v) {
		return next, true
	}
	for i := len(v.Young) - 1; i >= 0; i-- {
		for _, t := range v.Young[i].Tables {
			if deferredIn(v, t) > 0 && !p.avoidsTable(t) && !p.avoidsValues(t) {
				young := manifest.YoungRuns{Older: len(v.Young) - 1 - i, Count: 1}
				return Plan{Young: young, OnlyTable: t.Number}, true
			}
		}
	}
	return Plan{}, false
}
