package ship

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stoatdb/stoat/internal/manifest"
)

// stock is which files of the database are in the folder, and which are only in the store. Safe for
// concurrent use.
type stock struct {
	due   chan struct{} // holds an item: there may be files to remove
	lacks chan struct{} // holds an item: there are files that the folder did not lack before

	mu      sync.Mutex
	lacking map[uint64]bool  // numbers of files that are only in the store, or obsolete since
	kept    map[uint64]stuck // files that could not be read or removed, by number
	failure error            // of the last try to remove files; nil if it succeeded

	unfilled   error     // why a file was not fetched, the last one; nil if there was none
	unfilledAt time.Time // when that was
}

// stuck is why a file stays in the folder.
type stuck struct {
	at  time.Time // of the last try
	err error
}

// stuckFor is how long a file that could not be removed is left alone: somebody else may have it
// open, or has to change permissions.
const stuckFor = time.Minute

// beginStock sets which files of a version the folder lacks: those that it lacked before the claim.
func (s *Shipper) beginStock(v *manifest.Version) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	for _, d := range filesOf(v) {
		if !s.isOwn(d) && !s.collector.local[d.object()] {
			s.stock.lacking[d.number] = true
		}
	}
}

// split returns the files of a version that are in the folder, and those that are only in the
// store.
func (c *stock) split(v *manifest.Version) (local, elsewhere []dataFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range filesOf(v) {
		if c.lacking[d.number] {
			elsewhere = append(elsewhere, d)
		} else {
			local = append(local, d)
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
	for _, d := range filesOf(v) {
		if before[d.number] {
			c.lacking[d.number] = true
		}
	}
	for number := range c.lacking {
		delete(c.kept, number)
	}
}

// keep records why files could not be removed.
func (c *stock) keep(kept map[uint64]error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, err := range kept {
		c.kept[number] = stuck{now, err}
	}
}

// again returns the files that could not be removed, and which of them are to be tried again.
func (c *stock) again(now time.Time) map[uint64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := make(map[uint64]bool, len(c.kept))
	for number, s := range c.kept {
		due[number] = now.Sub(s.at) >= stuckFor
	}
	return due
}

// whyStuck returns why files of a version could not be removed: the oldest of them, and how many
// there are. It forgets others.
func (c *stock) whyStuck(v *manifest.Version) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) == 0 {
		return nil
	}
	named := map[uint64]stuck{}
	oldest := uint64(math.MaxUint64)
	for _, d := range filesOf(v) {
		if s, isKept := c.kept[d.number]; isKept {
			named[d.number], oldest = s, min(oldest, d.number)
		}
	}
	c.kept = named
	switch err := named[oldest].err; len(named) {
	case 0, 1:
		return err
	default:
		return fmt.Errorf("%w; and %d more files stay in the folder", err, len(named)-1)
	}
}

// note records the outcome of a try to remove files.
func (c *stock) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// noteFill records why a file was not fetched.
func (c *stock) noteFill(err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unfilled, c.unfilledAt = err, now
}

// addTo adds to a status what went wrong.
func (c *stock) addTo(st *Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Unevicted, st.Unfilled, st.UnfilledAt = c.failure, c.unfilled, c.unfilledAt
}
