package replica

import "slices"

// recentMax is how much of a kind the status remembers.
const recentMax = 64

// source is who brought something: a device, or one of those that hold no grant, which are one
// source together, since anybody can make any number of them. The zero value stands for what no
// device brought.
type source struct {
	device   DeviceID
	stranger bool
}

// sourceOf returns what a device is as a source, as far as this replica knows. The caller must hold
// mu.
func (s *Space) sourceOf(device DeviceID) source {
	known := s.rights.newest()
	if device == (DeviceID{}) || known == nil || known.tree.Now(device, anyRight, "") {
		return source{device: device}
	}
	return source{stranger: true}
}

// recent is what was noted last, for the status. What is noted of strangers takes the place of
// nothing but that of strangers, and the rest shares what room there is, so nobody can hide what
// went wrong with others.
type recent[T any] struct{ all []noted[T] }

// noted is something with the source that caused it.
type noted[T any] struct {
	what T
	from source
}

// add adds something, unless it is a stranger's and there is no room for it.
func (r *recent[T]) add(from source, what T) {
	if len(r.all) == recentMax {
		i := r.leaving(from.stranger)
		if i < 0 {
			return
		}
		r.all = slices.Delete(r.all, i, i+1)
	}
	r.all = append(r.all, noted[T]{what, from})
}

// leaving returns the index of what leaves for something new, or -1: the oldest of strangers, or
// else, unless that is a stranger's, the oldest of the source that has the most.
func (r *recent[T]) leaving(stranger bool) int {
	ofStranger := func(n noted[T]) bool { return n.from.stranger }
	if i := slices.IndexFunc(r.all, ofStranger); i >= 0 || stranger {
		return i
	}
	counts, most := map[source]int{}, 0
	for i := range r.all {
		counts[r.all[i].from]++
		most = max(most, counts[r.all[i].from])
	}
	return slices.IndexFunc(r.all, func(n noted[T]) bool { return counts[n.from] == most })
}

// drop drops what a function chooses.
func (r *recent[T]) drop(chosen func(*T) bool) {
	r.all = slices.DeleteFunc(r.all, func(n noted[T]) bool { return chosen(&n.what) })
}

// list returns what is noted, the oldest first.
func (r *recent[T]) list() (all []T) {
	for i := range r.all {
		all = append(all, r.all[i].what)
	}
	return all
}
