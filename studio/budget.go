package studio

import "time"

// What ends a page before its limit.
const (
	pageTime  = time.Second // to look for its rows
	pageBytes = 2 << 20     // of the names, keys and values in it
)

// budget is how many rows a page may still have: it ends at its limit, and before that when it has
// become large or has taken long. Every page has one row at least.
type budget struct {
	limit, rows int
	bytes       int
	end         time.Time
}

// newBudget returns the budget of a page that begins now.
func newBudget(limit int) *budget { return &budget{limit: limit, end: time.Now().Add(pageTime)} }

// spent reports whether the page is over.
func (b *budget) spent() bool {
	return b.rows >= b.limit || b.rows > 0 && (b.bytes > pageBytes || time.Now().After(b.end))
}

// add counts a row of some bytes.
func (b *budget) add(bytes int) {
	b.rows++
	b.bytes += bytes
}
