package replica

import (
	"errors"
	"maps"
	"slices"
)

// lacks returns the collections of which content is missing, with their numbers.
func (t *txn) lacks() (map[string]uint32, error) {
	if t.lacking != nil {
		return t.lacking, nil
	}
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return nil, nil // there are no entries of others
	}
	if err != nil {
		return nil, err
	}
	return v.lacks, nil
}

// readLacks returns lacks as it is stored.
func (t *txn) readLacks() (map[string]uint32, error) {
	all := map[string]uint32{}
	_, err := t.meta.Get([]byte(prefixWithheld))
	if missing(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := t.collectionNames()
	if err != nil {
		return nil, err
	}
	for number, name := range names {
		_, err := t.meta.Get(keyed(nil, prefixWithheld, number))
		if err == nil {
			all[name] = number
		} else if !missing(err) {
			return nil, err
		}
	}
	return all, nil
}

// setLacking notes that content of a collection is missing, or that nothing is any more.
func (t *txn) setLacking(name string, number uint32, lacking bool) error {
	if err := t.mergeDeferred(); err != nil {
		return err
	}
	key := keyed(nil, prefixWithheld, number)
	err := t.meta.Delete(key)
	if lacking {
		err = errors.Join(t.meta.Put(key, nil), t.meta.Put([]byte(prefixWithheld), nil))
	}
	if err == nil {
		err = t.renewRights()
	}
	if err == nil && t.lacking == nil {
		t.lacking, err = t.ownLacks()
	}
	if err != nil {
		return err
	}
	if lacking {
		t.lacking[name] = number
	} else {
		delete(t.lacking, name)
	}
	t.arrived.add(name)
	return nil
}

// ownLacks returns lacks for the transaction to change.
func (t *txn) ownLacks() (map[string]uint32, error) {
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return t.readLacks()
	}
	if err != nil {
		return nil, err
	}
	return maps.Clone(v.lacks), nil
}

// arrivals says of which collections less may be missing than before the transaction: of these, or
// of any, since a log was cut.
type arrivals struct {
	of  map[string]bool
	any bool
}

// add notes that less may be missing of a collection.
func (a *arrivals) add(name string) {
	if a.of == nil {
		a.of = map[string]bool{}
	}
	a.of[name] = true
}

// among returns which of the collections that lack something are to be looked at, in order.
func (a *arrivals) among(lacks map[string]uint32) (names []string) {
	if a.any {
		return slices.Sorted(maps.Keys(lacks))
	}
	for name := range a.of {
		if _, lacking := lacks[name]; lacking {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// errGapFound ends a loop over gaps.
var errGapFound = errors.New("something is missing")

// completeCollections shows the collections of which nothing is missing any more since the
// transaction began.
func (t *txn) completeCollections() error {
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	complete := map[string]uint32{}
	for _, name := range t.arrived.among(lacks) {
		is, err := t.isComplete(lacks[name])
		if err != nil {
			return err
		}
		if is {
			complete[name] = lacks[name]
		}
	}
	for name, number := range complete {
		if err := t.setLacking(name, number, false); err != nil {
			return err
		}
	}
	t.arrived = arrivals{}
	if len(complete) == 0 {
		return nil
	}
	if err := t.replayMarked(); err != nil {
		return err
	}
	for name, number := range complete {
		if err := t.reveal(name, number); err != nil {
			return err
		}
	}
	return nil
}

// isComplete reports whether nothing is missing of a collection.
func (t *txn) isComplete(number uint32) (bool, error) {
	unfilled, err := t.isUnfilled(number)
	if err == nil && !unfilled {
		err = t.eachGap(number, func(*head, uint64) error { return errGapFound })
	}
	if errors.Is(err, errGapFound) {
		return false, nil
	}
	return err == nil && !unfilled, err
}

// reveal makes the records of a collection show their states, now or when it is opened.
func (t *txn) reveal(name string, number uint32) error {
	if c := t.space.opened(name); c != nil {
		return t.project(c)
	}
	return t.meta.Delete(keyed(nil, prefixType, number))
}
