package replica

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// ErrNotHeld reports a collection whose content this replica does not have, or not all of it: it is
// not among [Options].Collections, this device may not read it, or no peer has given it yet.
var ErrNotHeld = errors.New("this replica does not have the collection")

// holdings is the collections that a replica holds. It is immutable.
type holdings struct{ names []string } // ascending; nil: all

func (h *holdings) has(collection string) bool {
	if h.names == nil {
		return true
	}
	_, found := slices.BinarySearch(h.names, collection)
	return found
}

// append appends the stored form: texts.
func (h *holdings) append(dst []byte) []byte {
	for _, name := range h.names {
		dst = wire.AppendBytes(dst, name)
	}
	return dst
}

// holdingsOf returns what Options.Collections says.
func holdingsOf(collections []string) (*holdings, error) {
	if len(collections) == 0 {
		return &holdings{}, nil
	}
	names := slices.Compact(slices.Sorted(slices.Values(collections)))
	for _, name := range names {
		if name == "" || len(name) > 255 {
			return nil, errors.New("Options.Collections: a name has 1 to 255 bytes")
		}
	}
	return &holdings{names}, nil
}

// held returns the collections that this replica holds.
func (t *txn) held() (*holdings, error) {
	if t.holdings != nil {
		return t.holdings, nil
	}
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return t.readHeld()
	}
	if err != nil {
		return nil, err
	}
	return v.held, nil
}

// readHeld returns held as it is stored.
func (t *txn) readHeld() (*holdings, error) {
	p, err := t.meta.Get([]byte(keyHolds))
	if missing(err) {
		return &holdings{}, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := parseHoldings(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", err, stoat.ErrCorrupt)
	}
	return h, err
}

func parseHoldings(p []byte) (*holdings, error) {
	h := &holdings{names: []string{}}
	r := wire.NewReader(p)
	for r.Len() > 0 {
		name := string(r.Bytes(1, 255))
		if n := len(h.names); n > 0 && name <= h.names[n-1] {
			r.Fail("they are not sorted")
		}
		h.names = append(h.names, name)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("the collections that are held: %w", err)
	}
	return h, nil
}

// hold sets the collections that this replica holds from now on.
func (t *txn) hold(collections []string) error {
	h, err := holdingsOf(collections)
	if err != nil {
		return err
	}
	t.holdings = h
	if h.names == nil {
		err = t.meta.Delete([]byte(keyHolds))
	} else {
		err = t.meta.Put([]byte(keyHolds), h.append(nil))
	}
	return errors.Join(err, t.renewRights())
}

// keepHoldings stores what Options.Collections says, if it says something else than before.
func (s *Space) keepHoldings(collections []string) error {
	if collections == nil {
		return nil
	}
	want, err := holdingsOf(collections)
	if err != nil {
		return err
	}
	same := false
	err = s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		h, err := t.held()
		same = err == nil && slices.Equal(h.names, want.names)
		return err
	})
	if err != nil || same {
		return err
	}
	err = s.inUpdate(func(t *txn) error { return t.hold(collections) })
	if errors.Is(err, stoat.ErrReadOnly) {
		err = fmt.Errorf("Options.Collections differs from what this replica holds: %w", err)
	}
	return err
}

// Collections returns the names of the collections that this replica holds, in alphabetical order;
// nil stands for all that its device may read.
func (s *Space) Collections(tx *stoat.Tx) ([]string, error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, wrap(s.name, err)
	}
	h, err := t.held()
	if err != nil {
		return nil, wrap(s.name, err)
	}
	return slices.Clone(h.names), nil
}

// holdsOrFails returns an error that is ErrNotHeld if this replica does not hold a collection.
func (s *Space) holdsOrFails(tx *stoat.Tx, collection string) error {
	t, err := s.in(tx)
	if err != nil {
		return err
	}
	return t.holds(collection)
}

// holds returns nil if this replica holds a collection, and an error that is ErrNotHeld if not.
func (t *txn) holds(collection string) error {
	h, err := t.held()
	if err == nil && !h.has(collection) {
		err = fmt.Errorf("it is not among Options.Collections: %w", ErrNotHeld)
	}
	return err
}

// whole returns nil if this replica has all of a collection, and an error that is ErrNotHeld if
// not.
func (t *txn) whole(collection string) error {
	if err := t.holds(collection); err != nil {
		return fmt.Errorf("collection %q: %w", collection, err)
	}
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	if _, lacking := lacks[collection]; lacking {
		return fmt.Errorf("content of collection %q is missing: bring the space together with a "+
			"replica that has it, and that gives it to this device: %w", collection, ErrNotHeld)
	}
	return nil
}

// wholeParts is whole for the parts of an entry.
func (t *txn) wholeParts(parts []entry.Part) error {
	for i := range parts {
		if err := t.whole(parts[i].Group); err != nil {
			return err
		}
	}
	return nil
}

// wholeSpace returns nil if this replica has all of the space.
func (t *txn) wholeSpace() error {
	lacks, err := t.lacks()
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		return fmt.Errorf("content of collection %q is missing: %w", name, ErrNotHeld)
	}
	return err
}

// Holds implements session.Space.
func (e endpoint) Holds() (names []string, err error) {
	err = e.s.db.View(func(tx *stoat.Tx) (err error) {
		names, err = e.s.Collections(tx)
		return err
	})
	return names, err
}
