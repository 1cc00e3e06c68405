package ship

import (
	"cmp"
	"sync"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
)

// stock is which files of the database are in the folder, and which are only in the store. Safe for
// concurrent use.
type stock struct {
	due   chan struct{} // holds an item: there may be files to remove
	lacks chan struct{} // holds an item: there are files that the folder did not lack before

	mu      sync.Mutex
	lacking map[uint64]bool // numbers of files that are only in the store, or obsolete since
	failure error           // of the last try to remove files; nil if it succeeded
}

// beginStock sets which files of a version the folder lacks: those that it lacked before the claim.
func (s *Shipper) beginStock(v *manifest.Version) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	for _, u := range filesOf(v) {
		if !s.isOwn(u) && !s.collector.local[history.DataName(u.kind, u.number)] {
			s.stock.lacking[u.number] = true
		}
	}
}

// filesOf returns all files of a version.
func filesOf(v *manifest.Version) []upload { return uploads(v, new(manifest.Version)) }

// byAge compares files by when they were made.
func byAge(a, b upload) int { return cmp.Compare(a.number, b.number) }

// bytesOf returns what files take.
func bytesOf(files []upload) (bytes int64) {
	for _, u := range files {
		bytes += u.size
	}
	return bytes
}

// split returns the files of a version that are in the folder, and those that are only in the
// store.
func (c *stock) split(v *manifest.Version) (local, elsewhere []upload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range filesOf(v) {
		if c.lacking[u.number] {
			elsewhere = append(elsewhere, u)
		} else {
			local = append(local, u)
		}
	}
	return local, elsewhere
}

// lack records that the folder lacks files now, and forgets those that v, the newest version, does
// not name.
func (c *stock) lack(numbers []uint64, v *manifest.Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.lacking
	for _, number := range numbers {
		before[number] = true
	}
	if len(numbers) > 0 {
		poke(c.lacks)
	}
	c.lacking = map[uint64]bool{}
	for _, u := range filesOf(v) {
		if before[u.number] {
			c.lacking[u.number] = true
		}
	}
}

// note records the outcome of a try to remove files.
func (c *stock) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// failed returns the error of the last try to remove files.
func (c *stock) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}
