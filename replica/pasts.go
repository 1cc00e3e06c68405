package replica

// pastsMax is the most numbers that pasts keep, 16 MiB.
const pastsMax = 2 << 20

// pasts is how many entries of each log happened before an entry, for the search of a barrier. The
// search looks at one entry of each log at least, and again at most of them, so some are kept. It
// is not safe for concurrent use.
type pasts struct {
	t      *txn
	heads  []*head
	before *horizon
	index  map[uint32]int // of the heads, by the numbers of their logs
	known  map[spot][]uint64
	most   int // numbers in known
}

func newPasts(t *txn, heads []*head, before *horizon) *pasts {
	p := &pasts{t: t, heads: heads, before: before, index: map[uint32]int{},
		known: map[spot][]uint64{}, most: pastsMax}
	for i, h := range heads {
		p.index[h.number] = i
	}
	return p
}

// of is a barrier.Past.
func (p *pasts) of(log int, seq uint64) ([]uint64, error) {
	at := spot{p.heads[log].number, seq}
	if all := p.known[at]; all != nil {
		return all, nil
	}
	seen, err := p.t.seenBy(at, p.before)
	if err != nil {
		return nil, err
	}
	all := make([]uint64, len(p.heads))
	for number, n := range seen {
		all[p.index[number]] = n
	}
	if (len(p.known)+1)*len(all) <= p.most {
		p.known[at] = all
	}
	return all, nil
}

// seenBy returns the vector of an entry, given that it has seen all that the horizon covers if it
// has seen its tops.
func (t *txn) seenBy(at spot, before *horizon) (vector, error) {
	if before != nil && at.seq < before.covers[at.log] {
		return before.covers, nil // nothing behind the horizon is asked about
	}
	v, err := t.vectorOf(at)
	if err != nil || before == nil {
		return v, err
	}
	seen, err := t.hasSeen(at, before)
	if err == nil && seen {
		for log, n := range before.covers {
			v[log] = max(v[log], n)
		}
	}
	return v, err
}
