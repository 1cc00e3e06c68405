package table

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// leastAsked is how many bytes a scan first prefetches. It doubles up to mostAsked while the
	// scan goes on, so that short scans read little in vain, and long ones keep a disk busy.
	leastAsked = 128 << 10
	mostAsked  = 512 << 10
	// farLead is how far a scan of a distant file asks ahead, at most, in farParts requests. At first
	// it is farGrowth times what the scan has passed.
	farLead   = 12 << 20
	farParts  = 3
	farGrowth = 4
	// keysAround is how many bytes of key parts are read from disk with one that is needed. A page
	// of keys serves the values of many pages, so its neighbours are likely to be needed, too, if
	// all key parts are at most a keysShare-th of the table's values.
	keysAround = 64 << 10
	keysShare  = 16
)

// prefetch asks for the blocks that the cursor comes to in direction d, from block b on and within
// its bounds. It asks for more when the last aheadBlocks of them are near, so that the disk is
// never idle.
func (c *Cursor) prefetch(b int, d keyspace.Direction) {
	step, next := 1, b
	if d == keyspace.Reverse {
		step = -1
	}
	if c.reader.far != nil {
		c.prefetchFar(b, step, b+step*(c.blocksAhead(b, d)-1))
		return
	}
	if left := (c.asked - b) * step; c.moved && left >= 0 {
		if left >= aheadBlocks {
			return
		}
		next, c.asking = c.asked+step, min(2*c.asking, mostAsked)
	} else {
		c.asking = leastAsked
	}
	if end := b + step*(c.blocksAhead(b, d)-1); (end-next)*step >= 0 {
		c.moved, c.asked = true, c.reader.prefetch(next, end, c.asking, c.scope.Read)
	}
}

// prefetchFar is prefetch in a distant file, for blocks up to last. Its lead grows with what the
// scan has passed, and is divided into several requests, so that some are always on their way.
func (c *Cursor) prefetchFar(b, step, last int) {
	r := c.reader
	if !c.moved || (c.asked-b)*step < 0 {
		c.moved, c.began, c.asked = true, b, b-step
	}
	lead := min(max(farGrowth*r.between(c.began, b), mostAsked), farLead, uint64(r.far.Lead()))
	part := max(lead/farParts, mostAsked/2)
	for (last-c.asked)*step > 0 {
		ahead := uint64(0)
		if (c.asked-b)*step >= 0 {
			ahead = r.between(b, c.asked+step)
		}
		if ahead > 0 && ahead+part > lead {
			return
		}
		c.asked = r.prefetch(c.asked+step, last, part, c.scope.Read)
	}
}

// between returns how many bytes the values of the blocks from one up to another have, or from that
// to the first.
func (r *reader) between(b, end int) uint64 {
	if end < b {
		b, end = end+1, b+1
	}
	return r.index.places[end].values - r.index.places[b].values
}

// willNeedValues asks for the values of block b of a distant file.
func (r *reader) willNeedValues(b int) {
	r.far.WillNeed(int64(r.index.places[b].values), int64(r.index.places[b+1].values))
}

// prefetch asks for about so many bytes of the blocks from first to last, in this order, unless
// they are in memory, and returns the last block that needs no prefetch now. The system does not
// read ahead by itself, because most reads are of a single value.
func (r *reader) prefetch(first, last int, most uint64, read Reading) (asked int) {
	if !r.mapped && r.far == nil {
		return last
	}
	step, bytes := 1, uint64(0)
	if last < first {
		step = -1
	}
	places, decoded := r.index.places, read != ReadKeys // all values, so that the file is not read
	for asked = first; ; asked += step {
		decoded = decoded && r.slots[asked].values.Load() != nil
		if read != ReadKeys {
			bytes += places[asked+1].values - places[asked].values
		}
		bytes += places[asked+1].keys - places[asked].keys
		if asked == last || bytes >= most {
			break
		}
	}
	low, high := places[min(first, asked)], places[max(first, asked)+1]
	if decoded {
		return asked
	}
	if r.far != nil {
		if r.far.WillNeed(int64(low.keys), int64(high.keys)); read != ReadKeys {
			r.far.WillNeed(int64(low.values), int64(high.values))
		}
		return asked
	}
	if read == ReadKeys {
		r.ask(low.keys, high.keys)
	} else if r.ask(low.values, high.values) {
		r.ask(low.keys, high.keys)
	}
	return asked
}

// ask asks for the bytes [from, to) of a map, unless they are in memory, and reports whether it
// did.
func (r *reader) ask(from, to uint64) bool {
	p := r.data[from:to]
	cold := !vfs.Resident(p)
	if cold {
		vfs.WillNeed(p)
	}
	return cold
}

// around returns the key parts around the one at offset from in the map that are worth reading with
// it, if it is one.
func (r *reader) around(from uint64) []byte {
	places := r.index.places
	first, last := places[0], places[len(places)-1]
	if from < first.keys || from >= last.keys ||
		(last.keys-first.keys)*keysShare > last.values-first.values {
		return nil
	}
	start := from - from%keysAround
	return r.data[max(first.keys, start):min(last.keys, start+keysAround)]
}
