package replica

import (
	"errors"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// errEarly refuses an entry, unless a log is cut before what the entry names of it.
var errEarly = errors.New("its time is not after those of its context")

// checkContext returns why the context of an entry keeps it from being merged. An entry that a
// context names behind the cut of a log may be of another branch: the last one before the cut
// counts instead, and the digest cannot be checked. Nor can it if a fork before the entry does not
// cut the log there, since a checkpoint counts, or if a checkpoint covers the entry and the one
// behind it: replicas may have pruned it.
func (t *txn) checkContext(h *head, e *entry.Entry) (reason, err error) {
	hz, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	unsure, early := false, false
	for _, c := range e.Context {
		if c.Log == h.id {
			return invalid("its context names its own log"), nil
		}
		number, known, err := t.logNumber(c.Log)
		if err != nil || !known {
			return &lacking{c}, err
		}
		other, err := t.head(number)
		if err != nil {
			return nil, err
		}
		if other.voids(c.Seq) {
			c.Seq, unsure = other.cut-1, true
		}
		if c.Seq >= other.next {
			return &lacking{c}, nil
		}
		if hz.passed(spot{number, c.Seq}) {
			unsure = true
			continue
		}
		if hz != nil && !unsure {
			if unsure, err = t.hasProof(other, c.Seq); err != nil {
				return nil, err
			}
		}
		seen, err := t.timeOf(spot{number, c.Seq})
		if err != nil {
			return nil, err
		}
		if unsure && hz != nil && hz.at == (spot{number, c.Seq}) && e.Time <= seen {
			continue // it is of the other branch: see named
		}
		early = early || e.Time <= seen
	}
	digest := e.Digest
	if !unsure {
		digest, err = t.digest(e.Context)
	}
	switch {
	case err != nil:
		return nil, err
	case digest != e.Digest, unsure && early: // what is stored may not be what its author has seen
		return errDigest, nil
	case early:
		return invalid("%w", errEarly), nil
	}
	return nil, nil
}
