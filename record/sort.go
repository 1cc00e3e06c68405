package record

import (
	"bytes"
	"slices"
)

const (
	// sortedBytes is the maximum size of the records that a sort keeps in memory.
	sortedBytes = 16 << 20
	// sortedMin is the minimum number of surplus records that a sort collects before it discards
	// them, so that it seldom has to sort.
	sortedMin = 64
)

// sorter collects the records of a query in memory and passes them on in order. With a limit it
// keeps at most about twice as many as it passes on.
type sorter struct {
	e        *exec
	top      int // how many records the query needs
	kept     []sortable
	full     bool   // the first top records so far are in order; later ones can be dropped
	size     int    // of the values kept, in bytes
	keysOnly bool   // the values exceeded sortedBytes: they are read again at the end
	spare    []byte // reused for the next record's order
}

// sortable is a record with the bytes to sort it by.
type sortable struct {
	order      []byte // the elements to sort by, followed by the key
	keyBytes   int
	value      []byte // nil if only keys are kept
	descending bool
}

// compareSortable compares two records in the order of the query.
func compareSortable(a, b sortable) int {
	if a.descending {
		return bytes.Compare(b.order, a.order)
	}
	return bytes.Compare(a.order, b.order)
}

// sort passes the records on in the order of the query.
func (e *exec) sort() error {
	s := &sorter{e: e, top: e.q.top()}
	err := e.walk(true, s.add)
	if err == nil {
		err = e.s.tx.Err()
	}
	if err != nil {
		return err
	}
	return s.pass()
}

// add collects a record, unless enough others come before it.
func (s *sorter) add(i *item) error {
	order := s.spare[:0]
	for _, c := range s.e.q.order {
		var err error
		if order, err = i.appendElement(order, c); err != nil {
			return err
		}
	}
	r := sortable{append(order, i.key...), len(i.key), i.value, s.e.q.reverse}
	if s.full && compareSortable(r, s.kept[s.top-1]) > 0 {
		s.spare = r.order
		return nil
	}
	s.spare = nil
	if s.size += len(r.value); s.size > sortedBytes && !s.keysOnly {
		s.keysOnly = true
		for i := range s.kept {
			s.kept[i].value = nil
		}
	}
	if s.keysOnly {
		r.value = nil
	}
	s.kept = append(s.kept, r)
	if len(s.kept)-s.top >= max(s.top, sortedMin) {
		s.trim()
	}
	return nil
}

// trim discards the surplus records.
func (s *sorter) trim() {
	slices.SortFunc(s.kept, compareSortable)
	clear(s.kept[s.top:])
	s.kept, s.full, s.size = s.kept[:s.top], true, 0
	for i := range s.kept {
		s.size += len(s.kept[i].value)
	}
}

// pass sorts the collected records and passes them on.
func (s *sorter) pass() error {
	slices.SortFunc(s.kept, compareSortable)
	for _, r := range s.kept {
		key := r.order[len(r.order)-r.keyBytes:]
		if s.keysOnly {
			var err error
			if r.value, err = s.e.s.find(key); err != nil {
				return err
			}
			if r.value == nil {
				continue // deleted in the meantime
			}
		}
		s.e.item.set(key, r.value)
		if err := s.e.pass(&s.e.item); err != nil {
			return err
		}
	}
	return nil
}
