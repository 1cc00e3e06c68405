package feed

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

// addresses returns the addresses of a value in each sublog.
func (f *Feed[T]) addresses(value *T) ([][]string, error) {
	all := make([][]string, len(f.sublogs))
	for i, sub := range f.sublogs {
		all[i] = sub.addresses(value)
		if err := checkAddresses(sub.name, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// index adds an entry, the first that is missing, to all sublogs.
func (f *Feed[T]) index(s *session, seq uint64, addresses [][]string) error {
	for i, sub := range f.sublogs {
		if err := s.index(sub.name, seq, addresses[i]); err != nil {
			return err
		}
	}
	return nil
}

// index adds an entry, the first that is missing, to a sublog.
func (s *session) index(name string, seq uint64, addresses []string) error {
	l, err := s.createLists(name)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if err := l.add(address, seq); err != nil {
			return err
		}
	}
	s.sublog(name).next = seq + 1
	return nil
}

// behind returns the first entry that a sublog lacks, or the next entry if none does.
func (f *Feed[T]) behind(s *session) uint64 {
	first := s.next
	for _, sub := range f.sublogs {
		if stored := s.sublog(sub.name); stored == nil {
			first = min(first, s.first)
		} else {
			first = min(first, max(stored.next, s.first))
		}
	}
	return first
}

// catchUp adds entries below end to the sublogs that lack them.
func (f *Feed[T]) catchUp(s *session, end uint64) error {
	end = min(end, s.next)
	for _, sub := range f.sublogs {
		stored := s.sublog(sub.name)
		if stored == nil {
			if _, err := s.createLists(sub.name); err != nil {
				return err
			}
			s.sublogs = append(s.sublogs, sublogState{sub.name, s.first})
			stored = s.sublog(sub.name)
		}
		stored.next = max(stored.next, s.first)
		if stored.next < end {
			if err := f.indexTo(s, sub, stored.next, end); err != nil {
				return fmt.Errorf("feed %q: sublog %q: %w", f.name, sub.name, err)
			}
		}
	}
	return nil
}

// catchUpAll adds all missing entries to the sublogs, or returns ErrOutdated if there are more than
// a transaction should read.
func (f *Feed[T]) catchUpAll(s *session) error {
	if missing := s.next - f.behind(s); missing > chunkSize {
		return fmt.Errorf("feed %q: %d entries are missing from sublogs: %w", f.name, missing,
			ErrOutdated)
	}
	return f.catchUp(s, s.next)
}

// indexTo adds the entries from start, inclusive, to end, exclusive, to a sublog. Entries that are
// already redacted belong to no address.
func (f *Feed[T]) indexTo(s *session, sub sublog[T], start, end uint64) error {
	return s.scan(entryRange(start, end), func(seq uint64, e stored) error {
		var addresses []string
		if !e.redacted {
			var entry Entry[T]
			if err := f.decode(s, seq, e, &entry); err != nil {
				return err
			}
			addresses = sub.addresses(&entry.Value)
		}
		if err := checkAddresses(sub.name, addresses); err != nil {
			return err
		}
		return s.index(sub.name, seq, addresses)
	})
}

// DropSublog removes a sublog that is no longer wanted, if it exists. The Feed must have been
// opened without it.
func (f *Feed[T]) DropSublog(tx *stoat.Tx, name string) error {
	s, err := f.writable(tx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(f.sublogs, func(sub sublog[T]) bool { return sub.name == name }) {
		return fmt.Errorf("feed %q: sublog %q is in use: open the feed without it", f.name, name)
	}
	if s.sublog(name) == nil {
		return nil
	}
	sublogs, err := s.sublogBuckets()
	if err == nil {
		err = sublogs.DeleteBucket([]byte(name))
	}
	if err != nil {
		return fmt.Errorf("feed %q: sublog %q: %w", f.name, name, err)
	}
	delete(s.opened, name)
	s.sublogs = slices.DeleteFunc(s.sublogs, func(sub sublogState) bool { return sub.name == name })
	return nil
}

// Addresses returns an iterator over the addresses of a sublog, in order, with the number of
// entries of each that are kept and not redacted. It first reads the whole sublog. If the loop
// fails, its last iteration yields an error.
func (f *Feed[T]) Addresses(tx *stoat.Tx, sublog string) iter.Seq2[Address, error] {
	return func(yield func(Address, error) bool) {
		s, err := f.session(tx)
		var counts map[string]uint64
		if err == nil {
			counts, err = s.counts(sublog)
		}
		if err != nil {
			yield(Address{}, err)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !yield(Address{name, counts[name]}, nil) {
				return
			}
		}
	}
}

// Address is an address in a sublog.
type Address struct {
	Name  string
	Count uint64 // the number of its entries
}

// counts returns the number of entries of each address that has any.
func (s *session) counts(sublog string) (map[string]uint64, error) {
	if err := s.usable(sublog); err != nil {
		return nil, err
	}
	l, err := s.lists(sublog)
	if err == nil {
		err = l.flush()
	}
	if err != nil {
		return nil, err
	}
	counts := make(map[string]uint64)
	redactions, err := s.redactions()
	if err != nil {
		return nil, err
	}
	chunk, redacted := ^uint64(0), posting.Set{}
	for key, p := range l.bucket.Scan(stoat.Range{}) {
		if len(key) < 9 {
			return nil, damaged("key %x in sublog %q is too short", key, sublog)
		}
		set, err := parsePart(key, p)
		if err != nil {
			return nil, err
		}
		base, err := parseKey(key[:8])
		if err == nil && base != chunk {
			chunk = base
			redacted, err = redactions.set(chunk, "")
		}
		if err != nil {
			return nil, err
		}
		set = set.AndNot(redacted)
		count := set.Len() - set.Rank(within(chunk, s.first))
		if count > 0 {
			counts[string(key[9:])] += uint64(count)
		}
	}
	return counts, s.tx.Err()
}

// within returns the offset of seq in a chunk, clamped to the chunk's bounds.
func within(chunk, seq uint64) int {
	if seq < chunk {
		return 0
	}
	return int(min(seq-chunk, chunkSize))
}

// usable returns an error if the sublog does not exist or lacks entries.
func (s *session) usable(sublog string) error {
	stored := s.sublog(sublog)
	if stored == nil {
		return fmt.Errorf("feed %q has no sublog %q: open it with this sublog in Options.Sublogs",
			s.name, sublog)
	}
	if max(stored.next, s.first) < s.next {
		return fmt.Errorf("feed %q: entries from %d on were appended without the sublog %q: open "+
			"the feed with it in Options.Sublogs", s.name, stored.next, sublog)
	}
	return nil
}
