package feed

import (
	"errors"
	"fmt"
	"maps"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

// errDisagree is wrapped by all errors about parts of a feed that disagree.
var errDisagree = errors.New("stored data is inconsistent")

// verify returns an error if entries, schemas, redactions, consumers and sublogs
// disagree.
func (f *Feed[T]) verify(s *session) error {
	if err := f.checkFormat(s); err != nil {
		return err
	}
	if err := s.checkEdition(); err != nil {
		return err
	}
	v := verification[T]{f: f, s: s, expected: s.first}
	for _, sub := range f.sublogs {
		if stored := s.sublog(sub.name); stored != nil {
			v.sublogs = append(v.sublogs, verified[T]{sub, stored.next, nil, map[string]uint64{}})
		}
	}
	if err := s.scan(stoat.Range{}, v.entry); err != nil {
		return err
	}
	if v.expected != s.next {
		return fmt.Errorf("%w: entry %d of %d is missing", errDisagree, v.expected, s.next)
	}
	if v.redacted != 0 {
		return fmt.Errorf("%w: %d entries are listed as redacted but do not exist", errDisagree,
			v.redacted)
	}
	for i := range v.sublogs {
		if err := v.sublogs[i].complete(s); err != nil {
			return err
		}
	}
	return s.verifyConsumers()
}

// verification is a pass over all entries, in order.
type verification[T any] struct {
	f        *Feed[T]
	s        *session
	expected uint64 // the number of the next entry
	chunk    uint64
	listed   posting.Set // redacted entries in the chunk
	redacted int         // how many listed redactions have not been met
	sublogs  []verified[T]
}

// verified is a sublog as verified by the entries met so far.
type verified[T any] struct {
	sublog[T]
	next   uint64                 // the first entry that it lacks
	sets   map[string]posting.Set // of the current chunk, by address; nil before the first
	counts map[string]uint64      // entries met, by address
}

// entry verifies an entry.
func (v *verification[T]) entry(seq uint64, e stored) error {
	if seq != v.expected {
		return fmt.Errorf("%w: entry %d is missing, %d follows", errDisagree, v.expected, seq)
	}
	v.expected++
	if chunk := seq &^ chunkMask; chunk != v.chunk || seq == v.s.first {
		if err := v.enter(chunk); err != nil {
			return err
		}
	}
	if e.redacted != v.listed.Has(uint16(seq-v.chunk)) {
		return fmt.Errorf("%w: entry %d has redacted=%t, but the list of redactions says otherwise",
			errDisagree, seq, e.redacted)
	}
	if e.redacted {
		v.redacted--
		return nil
	}
	var entry Entry[T]
	if err := v.f.decode(v.s, seq, e, &entry); err != nil {
		return err
	}
	for i := range v.sublogs {
		sub := &v.sublogs[i]
		if seq >= sub.next {
			continue
		}
		if err := sub.entry(v.s, v.chunk, seq, &entry.Value); err != nil {
			return err
		}
	}
	return nil
}

// enter moves to another chunk.
func (v *verification[T]) enter(chunk uint64) error {
	v.chunk = chunk
	redactions, err := v.s.redactions()
	if err != nil {
		return err
	}
	if v.listed, err = redactions.set(chunk, ""); err != nil {
		return err
	}
	v.redacted += v.listed.Len() - v.listed.Rank(within(chunk, v.s.first))
	for i := range v.sublogs {
		v.sublogs[i].sets = map[string]posting.Set{}
	}
	return nil
}

// entry verifies that the sublog contains an entry under all its addresses.
func (x *verified[T]) entry(s *session, chunk, seq uint64, value *T) error {
	met := map[string]bool{}
	for _, address := range x.addresses(value) {
		set, ok := x.sets[address]
		if !ok {
			l, err := s.lists(x.name)
			if err == nil {
				set, err = l.set(chunk, address)
			}
			if err != nil {
				return err
			}
			x.sets[address] = set
		}
		if !set.Has(uint16(seq - chunk)) {
			return fmt.Errorf("%w: sublog %q does not have entry %d under %q", errDisagree, x.name, seq,
				address)
		}
		if !met[address] {
			x.counts[address]++
			met[address] = true
		}
	}
	return nil
}

// complete verifies that the sublog has no other entries than those met.
func (x *verified[T]) complete(s *session) error {
	if max(x.next, s.first) < s.next {
		return nil // Open adds the rest
	}
	counts, err := s.counts(x.name)
	if err == nil && !maps.Equal(counts, x.counts) {
		err = fmt.Errorf("%w: sublog %q has entries that do not belong to it", errDisagree, x.name)
	}
	return err
}

// verifyConsumers returns an error if a cursor is damaged or past the end.
func (s *session) verifyConsumers() error {
	consumers, err := s.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return err
	}
	for name, p := range consumers.Scan(stoat.Range{}) {
		at, err := parseCursor(name, p)
		if err == nil && at > s.next {
			err = fmt.Errorf("%w: consumer %q is at entry %d of %d", errDisagree, name, at, s.next)
		}
		if err != nil {
			return err
		}
	}
	return s.tx.Err()
}
