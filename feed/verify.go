package feed

import (
	"errors"
	"fmt"
	"maps"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

// errDisagree says what a feed with a loss has in common with all others.
var errDisagree = errors.New("what is stored does not agree")

// verify returns an error if entries, redactions, consumers and sublogs do not agree.
func (f *Feed[T]) verify(s *session) error {
	if err := f.fits(s); err != nil {
		return err
	}
	v := verification[T]{f: f, s: s, expected: s.first}
	for _, sub := range f.sublogs {
		if stored := s.sublog(sub.name); stored != nil {
			v.sublogs = append(v.sublogs, verified[T]{sub, stored.next, nil, map[string]uint64{}})
		}
	}
	if err := s.scan(0, ^uint64(0), false, v.entry); err != nil {
		return err
	}
	if v.expected != s.next {
		return fmt.Errorf("%w: entry %d of %d is missing", errDisagree, v.expected, s.next)
	}
	if v.redacted != 0 {
		return fmt.Errorf("%w: %d entries are listed as redacted that are not there", errDisagree,
			v.redacted)
	}
	for i := range v.sublogs {
		if err := v.sublogs[i].complete(s); err != nil {
			return err
		}
	}
	return s.verifyConsumers()
}

// verification is a look at all entries in their order.
type verification[T any] struct {
	f        *Feed[T]
	s        *session
	expected uint64 // the number of the next entry
	chunk    uint64
	listed   posting.Set // what is redacted in the chunk
	redacted int         // how many of those that are listed were not met
	sublogs  []verified[T]
}

// verified is a sublog as far as entries were met.
type verified[T any] struct {
	sublog[T]
	next   uint64                 // the first entry that is not in it yet
	sets   map[string]posting.Set // of the chunk, by address; nil before the first
	counts map[string]uint64      // entries that were met, by address
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
		return fmt.Errorf("%w: entry %d is redacted: %t, and listed otherwise", errDisagree, seq,
			e.redacted)
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

// enter goes on to another chunk.
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

// entry verifies that the sublog has an entry under all of its addresses.
func (x *verified[T]) entry(s *session, chunk, seq uint64, value *T) error {
	met := map[string]bool{}
	for _, address := range x.addresses(value) {
		set, ok := x.sets[address]
		if !ok {
			l, err := s.lists(x.name, false)
			if err == nil {
				set, err = l.set(chunk, address)
			}
			if err != nil {
				return err
			}
			x.sets[address] = set
		}
		if !set.Has(uint16(seq - chunk)) {
			return fmt.Errorf("%w: the sublog %q does not have entry %d under %q", errDisagree, x.name,
				seq, address)
		}
		if !met[address] {
			x.counts[address]++
			met[address] = true
		}
	}
	return nil
}

// complete verifies that the sublog has no more entries than were met.
func (x *verified[T]) complete(s *session) error {
	if max(x.next, s.first) < s.next {
		return nil // Open adds the rest
	}
	counts, err := s.counts(x.name)
	if err == nil && !maps.Equal(counts, x.counts) {
		err = fmt.Errorf("%w: the sublog %q has other entries than belong to it", errDisagree, x.name)
	}
	return err
}

// verifyConsumers returns an error if a consumer is past the end.
func (s *session) verifyConsumers() error {
	consumers, err := s.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return err
	}
	for name, p := range consumers.Scan(stoat.Range{}) {
		in := reader{rest: p}
		if at := in.number(); in.bad || at > s.next {
			return fmt.Errorf("%w: the consumer %q is at entry %d of %d", errDisagree, name, at, s.next)
		}
	}
	return s.tx.Err()
}
