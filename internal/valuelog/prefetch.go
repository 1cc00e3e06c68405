package valuelog

import (
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/vfs"
)

// joinBytes is the longest gap between two values that is read along. A disk needs about as long to
// read so much as to go elsewhere.
const joinBytes = 128 << 10

// extent is the bytes [from, to) of a file.
type extent struct{ from, to uint64 }

// prefetch asks for the values that ps point to, as [File.Prefetch] does. Without a map there is
// nothing to ask with, unless the file is distant, and reading waits in a system call anyway.
func (r *reader) prefetch(ps []Pointer) {
	if r.file != nil && r.far == nil {
		return
	}
	for _, e := range r.extents(ps) {
		if r.far != nil {
			r.far.WillNeed(int64(e.from), int64(e.to))
		} else {
			vfs.WillNeed(r.data[e.from:e.to])
		}
	}
}

// cold reports whether the end of a value is in the map and not in memory. Its start would not
// tell: that shares a page with the value before, which may just have been read.
func (r *reader) cold(p Pointer) bool {
	if r.far != nil {
		return true // it costs little to ask
	}
	return r.file == nil && r.has(p) && p.Length > 0 && !vfs.Resident(r.part(p)[p.Length-1:])
}

// extents returns where the values that ps point to lie, sorted, and neighbours joined. Pointers
// that point elsewhere are left out.
func (r *reader) extents(ps []Pointer) []extent {
	sorted := make([]extent, 0, len(ps))
	for _, p := range ps {
		if r.has(p) {
			sorted = append(sorted, extent{p.Offset, p.Offset + uint64(p.Length)})
		}
	}
	slices.SortFunc(sorted, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	joined := sorted[:0]
	for _, e := range sorted {
		if n := len(joined); n > 0 && e.from < joined[n-1].to+joinBytes {
			joined[n-1].to = max(joined[n-1].to, e.to)
		} else {
			joined = append(joined, e)
		}
	}
	return joined
}
