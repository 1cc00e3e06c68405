package memfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorBytes is what a disk writes wholly or not at all.
const sectorBytes = 512

// Crash returns a file system as a power cut at this moment could leave it: all that was synced,
// and a random part of the rest. Each unsynced sector has its new or its last synced content; each
// unsynced size is one that the file had or could have had in between; each file created or removed
// since its directory was synced is there or not, even if the file itself was synced. The same
// state and random numbers give the same result.
//
// The result shares nothing that can change with f, nobody holds its locks, and everything in it is
// durable. Concurrent operations are in it wholly or not at all, in the order in which they
// happened.
func (f *FS) Crash(rng *rand.Rand) *FS { return f.crash(fate{rng: rng}) }

// CrashKeepNone returns what a power cut leaves if nothing survives that was not synced.
func (f *FS) CrashKeepNone() *FS { return f.crash(fate{}) }

// CrashKeepAll returns what a power cut leaves if everything survives.
func (f *FS) CrashKeepAll() *FS { return f.crash(fate{keep: 1}) }

// Kill returns what is left when only the process dies: everything is there, and what was not
// synced is as little durable as before. In all else it is like Crash.
func (f *FS) Kill() *FS { return f.crash(fate{kill: true}) }

// outlive returns a copy of the file, the same one each time.
func (n *node) outlive(left map[*node]*node) *node {
	if m, ok := left[n]; ok {
		return m
	}
	m := newNode(true)
	m.now, m.durable = n.now.share(), n.durable.share()
	m.low, m.high, m.dirty = n.low, n.high, n.dirty
	left[n] = m
	return m
}

// fate decides which unsynced changes survive.
type fate struct {
	rng  *rand.Rand // nil for all or none
	keep float64    // the probability; without rng, 1 or 0
	kill bool       // nothing changes, not even what is durable
}

// vary returns the fate of one file or directory. Each has its own probability, since chances all
// alike would hardly ever keep or lose most of many changes.
func (f fate) vary() fate {
	if f.rng != nil {
		f.keep = f.rng.Float64()
	}
	return f
}

func (f fate) keeps() bool {
	if f.rng == nil {
		return f.keep > 0
	}
	return f.rng.Float64() < f.keep
}

func (f *FS) crash(all fate) *FS {
	if !f.crashable {
		all = fate{keep: 1}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.lockFilesLocked()()
	after := New()
	after.crashable = f.crashable
	left := map[*node]*node{nil: nil}
	for _, path := range slices.Sorted(maps.Keys(f.dirs)) {
		after.dirs[path] = f.dirs[path].crash(all, left)
	}
	return after
}

// lockFilesLocked locks all files, so that the copies of them belong to one moment, and returns how
// to unlock them. Nothing else locks a second file, hence any order will do.
func (f *FS) lockFilesLocked() (unlock func()) {
	nodes := make(map[*node]bool) // one may have several names
	for _, dir := range f.dirs {
		for _, e := range dir.entries {
			nodes[e.now], nodes[e.durable] = true, true
		}
	}
	delete(nodes, nil)
	for n := range nodes {
		n.mu.Lock()
	}
	return func() {
		for n := range nodes {
			n.mu.Unlock()
		}
	}
}

// crash returns the directory after a crash, and adds to left what is left of the files in it: one
// with several names stays one.
func (d *directory) crash(all fate, left map[*node]*node) *directory {
	after := newDirectory()
	own := all.vary()
	for _, name := range slices.Sorted(maps.Keys(d.entries)) {
		e := d.entries[name]
		if all.kill {
			after.entries[name] = entry{now: e.now.outlive(left), durable: e.durable.outlive(left)}
			continue
		}
		n := e.crash(own)
		if n == nil {
			continue
		}
		if left[n] == nil {
			left[n] = n.crashLocked(all)
		}
		n = left[n]
		after.entries[name] = entry{now: n}
		if n.crashable {
			after.entries[name] = entry{now: n, durable: n}
		}
	}
	return after
}

// crash returns the file that the name stands for after a crash, or nil.
func (e entry) crash(f fate) *node {
	switch {
	case e.now == e.durable:
		return e.now
	case e.now == nil || e.durable == nil: // one change: a removal or a creation
		if f.keeps() {
			return e.now
		}
		return e.durable
	case !f.keeps(): // a removal, on which a creation followed
		return e.durable
	case !f.keeps():
		return nil
	}
	return e.now
}

// crashLocked returns the file after a crash. The caller holds the lock.
func (n *node) crashLocked(all fate) *node {
	after := newNode(n.crashable)
	switch {
	case all.rng != nil && n.dirty:
		after.now = n.mix(all.vary())
	case all.keep > 0:
		after.now = n.now.share()
	default:
		after.now = n.durable.share()
	}
	if n.crashable {
		after.durable = after.now.share()
		after.low, after.high = after.now.size, after.now.size
	}
	return after
}

// mix returns a content between the durable one and the newest.
func (n *node) mix(f fate) content {
	size := n.mixSize(f)
	mixed := content{size: max(n.durable.size, n.now.size)}
	for i := range max(len(n.durable.pages), len(n.now.pages)) {
		old, new := n.durable.page(i), n.now.page(i)
		if same(old, new) {
			mixed.pages = append(mixed.pages, page{data: old, shared: true})
			continue
		}
		mixed.pages = append(mixed.pages, page{data: n.mixPage(i, old, new, f)})
	}
	mixed = mixed.cut(size, n.pageBytes)
	mixed.size = size
	return mixed
}

// mixSize returns a size that the file may have: the durable one, the newest, or any in the range
// of those since the last sync, in sectors.
func (n *node) mixSize(f fate) int64 {
	switch {
	case n.low == n.high:
		return n.low
	case f.rng.IntN(2) == 0:
		sectors := n.high/sectorBytes - n.low/sectorBytes + 1
		size := (n.low/sectorBytes + f.rng.Int64N(sectors)) * sectorBytes
		return max(n.low, size)
	case f.keeps():
		return n.now.size
	}
	return n.durable.size
}

// mixPage returns page i with each sector that differs either old or new. Where the file was
// shorter in between, zeros are possible too.
func (n *node) mixPage(i int, old, new []byte, f fate) []byte {
	mixed := make([]byte, max(len(old), len(new)))
	start := int64(i) * int64(n.pageBytes)
	for from := 0; from < len(mixed); from += sectorBytes {
		before, after := sector(old, from), sector(new, from)
		cut := start+int64(from) >= n.low
		switch {
		case same(before, after) || f.keeps():
			copy(mixed[from:], after)
		case !cut || f.rng.IntN(2) == 0:
			copy(mixed[from:], before)
		}
	}
	return mixed
}

// sector returns the sector of a page that starts at from, without the zeros that may follow.
func sector(data []byte, from int) []byte {
	return data[min(from, len(data)):min(from+sectorBytes, len(data))]
}

// same reports whether two pages or sectors are equal, given that zeros follow the shorter one.
func same(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	if !bytes.Equal(a, b[:len(a)]) {
		return false
	}
	for _, c := range b[len(a):] {
		if c != 0 {
			return false
		}
	}
	return true
}
