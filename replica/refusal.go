package replica

import (
	"slices"
	"time"
)

// refusalsMax is how many of the last refusals are remembered.
const refusalsMax = 64

// Refusal is an entry from others that was not taken, nor what follows it in its log.
type Refusal struct {
	EntryID
	Time   time.Time `json:"time"`
	Reason Reason    `json:"reason"`
}

// refusals are the last refusals since the space was opened.
type refusals struct {
	count uint64
	last  []Refusal
}

// add adds a refusal.
func (r *refusals) add(f Refusal) {
	r.count++
	if len(r.last) == refusalsMax {
		r.last = slices.Delete(r.last, 0, 1)
	}
	r.last = append(r.last, f)
}
