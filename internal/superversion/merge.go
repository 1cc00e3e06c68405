package superversion

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/table"
)

// merge is a k-way merge of sorted inputs. It walks the newest entry of each key, whatever that
// says, in both directions, within bounds. Entries that a newer input deletes as part of a range
// are left out.
//
// The input whose key comes next is the winner. As long as the rest of the winner's leaf or window
// lies within the bounds and before the key of every other input, its entries are free: the merge
// takes them without comparing anything. Nearly all entries are, because one run holds nearly all
// data or the runs do not interleave.
//
// Once it has inputs, a merge refers to itself and must not be copied.
type merge struct {
	inputs    []input    // newest first: among equal keys the first input has the newest entry
	deletions []deletion // newest first: the ranges within the bounds that inputs delete
	examined  int        // how many runs that delete ranges addRun has seen
	scope     table.Scope
	shared    int // bytes that all keys within the bounds share
	direction keyspace.Direction

	winner   *input // on the current entry; nil if the merge is on none
	runnerUp *input // the next in line; nil if no other input is live
	free     int    // entries beyond the current one that need no comparison
	err      error
}

// init makes m a merge of nothing, on no entry. Inputs must be added newest first.
func (m *merge) init(scope table.Scope) {
	*m = merge{
		inputs: m.inputs[:0], deletions: m.deletions[:0],
		scope: scope, shared: sharedPrefix(scope.Lower, scope.Upper),
	}
}

// release drops the inputs and keeps the merge's own memory for another init.
func (m *merge) release() {
	for i := range m.inputs {
		m.inputs[i].run.Release()
	}
	clear(m.inputs)
	clear(m.deletions)
	*m = merge{inputs: m.inputs[:0], deletions: m.deletions[:0]}
}

func (m *merge) addMemtable(root *memtable.Root) {
	if root.Len() > 0 {
		m.addInput(nil).mem.Init(*root)
	}
	m.addDeletion(deletion{root: root})
}

func (m *merge) addRun(run *Run) {
	for _, spans := range run.newer[m.examined:] {
		m.addDeletion(deletion{spans: spans})
	}
	m.examined = len(run.newer)
	if run.overlaps(m.scope.Lower, m.scope.Upper) {
		m.addInput(run)
	}
}

// addInput adds an input that is older than the deletions so far; run is nil for a memtable.
func (m *merge) addInput(run *Run) *input {
	m.inputs = append(m.inputs, input{newer: len(m.deletions)})
	in := &m.inputs[len(m.inputs)-1]
	in.run.run, in.run.scope = run, &m.scope
	in.gap.End = []byte{} // contains no key yet
	return in
}

// seek moves to the first entry whose key is not below key and reports whether there is one.
func (m *merge) seek(key []byte) bool {
	if bytes.Compare(key, m.scope.Lower) < 0 {
		key = m.scope.Lower
	}
	return m.position(keyspace.Forward, func(in *input) bool { return in.seek(key) })
}

// seekBefore moves to the last entry whose key is below key and reports whether there is one.
func (m *merge) seekBefore(key []byte) bool {
	if m.scope.Upper != nil && bytes.Compare(key, m.scope.Upper) > 0 {
		key = m.scope.Upper
	}
	return m.position(keyspace.Reverse, func(in *input) bool { return in.seekBefore(key) })
}

func (m *merge) last() bool {
	if m.scope.Upper != nil {
		return m.seekBefore(m.scope.Upper)
	}
	return m.position(keyspace.Reverse, (*input).last)
}

// position puts every input in place with move and chooses the first entry in direction d.
func (m *merge) position(d keyspace.Direction, move func(*input) bool) bool {
	m.direction, m.err = d, nil
	for i := range m.inputs {
		in := &m.inputs[i]
		in.rest = restUnknown
		ok := move(in)
		in.run.prefetched = prefetchAfter
		if !m.settle(in, ok) {
			return false
		}
	}
	return m.choose()
}

// next moves one entry on in direction d and reports whether there is one. At the end the merge is
// on no entry and has to be positioned again.
func (m *merge) next(d keyspace.Direction) bool {
	switch {
	case m.direction != d:
		return m.turn(d)
	case m.free > 0:
		m.free--
		return m.winner.step(d)
	}
	return m.winner != nil && m.compete()
}

// turn changes the direction of travel and moves one entry on.
func (m *merge) turn(d keyspace.Direction) bool {
	if m.winner == nil {
		return false
	}
	key := m.winner.currentKey()
	if d == keyspace.Reverse {
		return m.seekBefore(key)
	}
	return m.position(d, func(in *input) bool {
		return in.seek(key) && (!bytes.Equal(in.currentKey(), key) || in.step(d))
	})
}

// compete moves the winner one entry on and compares it with the others.
func (m *merge) compete() bool {
	in := m.winner
	ok := in.step(m.direction)
	if ok && m.runnerUp == nil && m.yieldsRest(in) {
		m.free = in.ahead(m.direction)
		return true
	}
	if !m.settle(in, ok) {
		return false
	}
	if !in.live || m.runnerUp != nil && !m.before(in, m.runnerUp) {
		return m.choose()
	}
	if m.free = m.freeWindow(); m.free == 0 {
		m.free = m.searchFree()
	}
	return true
}

// stop puts the merge on no entry, because of err if that is not nil.
func (m *merge) stop(err error) {
	m.winner, m.free, m.err = nil, 0, err
}

// settle records where a move has left an input: on an entry to be merged, or out of the running.
// It reports false on an error, which ends the merge.
func (m *merge) settle(in *input, moved bool) bool {
	in.live = false
	if moved && in.newer > 0 {
		moved = m.leaveDeleted(in)
	}
	if !moved {
		if in.run.err != nil {
			m.stop(in.run.err)
		}
		return in.run.err == nil
	}
	in.key = in.currentKey()
	if in.live = m.within(in.key); in.live {
		in.head = keyspace.Head(in.key[m.shared:])
	}
	return true
}

// within reports whether key is not beyond the bounds in the direction of travel.
func (m *merge) within(key []byte) bool {
	if m.direction == keyspace.Reverse {
		return bytes.Compare(key, m.scope.Lower) >= 0
	}
	return m.scope.Upper == nil || bytes.Compare(key, m.scope.Upper) < 0
}

// choose makes the live input that comes first the winner, moves all others past older entries of
// its key, and finds the runner-up. It reports whether there is a winner.
func (m *merge) choose() bool {
	m.winner, m.runnerUp, m.free = nil, nil, 0
	for i := range m.inputs {
		if in := &m.inputs[i]; in.live && (m.winner == nil || m.before(in, m.winner)) {
			m.winner = in
		}
	}
	if m.winner == nil {
		return false
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		if !in.live || in == m.winner {
			continue
		}
		if in.head == m.winner.head && bytes.Equal(in.key, m.winner.key) {
			if !m.settle(in, in.step(m.direction)) {
				return false
			}
			if !in.live {
				continue
			}
		}
		if m.runnerUp == nil || m.before(in, m.runnerUp) {
			m.runnerUp = in
		}
	}
	m.free = m.freeWindow() // no search: where runs interleave, the winner changes all the time
	return true
}

// before reports whether a's key comes strictly before b's in the direction of travel.
func (m *merge) before(a, b *input) bool {
	if a.head != b.head {
		return (a.head < b.head) != bool(m.direction) // cheap enough to be inlined
	}
	return m.ordered(a.key, b.key)
}

func (m *merge) ordered(a, b []byte) bool {
	if m.direction == keyspace.Reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

// sharedPrefix returns how many leading bytes all keys in [lower, upper) share.
func sharedPrefix(lower, upper []byte) int {
	n := keyspace.Shared(lower, upper)
	if n < len(lower) && n+1 == len(upper) && lower[n]+1 == upper[n] {
		n++ // upper is the successor of lower's first n+1 bytes
	}
	return n
}
