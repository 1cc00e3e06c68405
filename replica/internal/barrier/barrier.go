// Package barrier finds what a checkpoint may cover: the greatest cut through the logs of a space
// that everything outside has seen.
//
// A cut says how many entries of each log are inside. It is a barrier if it is closed, so that
// what happened before an entry inside is inside, too; if the first entry outside, of each log, has
// all of the cut in its past; and if there is such an entry of each log that may still grow unseen.
// The first entry of a log founds it and need not have seen anything. Barriers are closed under
// union, so there is a greatest one.
//
// The package knows no entries and no databases. Functions are safe for concurrent use.
package barrier

// Log is what must be known of a log.
type Log struct {
	Count uint64 // how many entries are known; at least 1
	// Holds says that entries may exist that are not known here and have seen no more than those
	// that are. It is false for the own log, for logs that have ended, and for those with one
	// entry.
	Holds bool
}

// Past returns how many entries of each log happened before an entry, itself included.
type Past func(log int, seq uint64) ([]uint64, error)

// Greatest returns the greatest barrier. It lowers the cut of all known entries as long as
// something is outside that has not seen all of it; only what cannot be inside of any barrier goes.
func Greatest(logs []Log, past Past) (cut []uint64, err error) {
	cut = make([]uint64, len(logs))
	for i, l := range logs {
		cut[i] = l.Count
		if l.Holds {
			cut[i]--
		}
	}
	for lowered := true; lowered; {
		lowered = false
		for i, l := range logs {
			first := max(cut[i], 1)
			if first >= l.Count {
				continue
			}
			seen, err := past(i, first)
			if err != nil {
				return nil, err
			}
			for j := range cut {
				if j != i && cut[j] > seen[j] {
					cut[j], lowered = seen[j], true
				}
			}
		}
		for i := range cut {
			n, err := closed(cut, i, past)
			if err != nil {
				return nil, err
			}
			if n < cut[i] {
				cut[i], lowered = n, true
			}
		}
	}
	return cut, nil
}

// closed returns how many of the entries of a log inside a cut have nothing in their past that is
// outside.
func closed(cut []uint64, log int, past Past) (n uint64, err error) {
	within := func(seq uint64) bool {
		seen, failed := past(log, seq)
		if failed != nil {
			err = failed
			return false
		}
		for j := range cut {
			if j != log && seen[j] > cut[j] {
				return false
			}
		}
		return true
	}
	if cut[log] == 0 || within(cut[log]-1) {
		return cut[log], err
	}
	least, most := uint64(0), cut[log]-1 // the first entry that is not within lies between
	for least < most {
		if at := least + (most-least)/2; within(at) {
			least = at + 1
		} else {
			most = at
		}
	}
	return least, err
}
