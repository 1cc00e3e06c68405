package replica

import (
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// scratch is memory with which a transaction takes or merges the changes of one record after the
// other. A space keeps it from one transaction to the next. It is not safe for concurrent use.
type scratch struct {
	state    state
	record   merge.Record
	row, now row
	values   [][]byte   // of the record that is built
	bytes    []byte     // handed out up to the length
	ops      []entry.Op // the same
}

// scratchMax is the most bytes that a space keeps in one piece.
const scratchMax = 1 << 16

// working returns the scratch memory of the transaction, which is valid until release.
func (t *txn) working() *scratch {
	if t.scratch == nil {
		t.scratch, _ = t.space.scratch.Get().(*scratch)
	}
	if t.scratch == nil {
		t.scratch = &scratch{}
	}
	return t.scratch
}

// release gives back the scratch memory. Nothing of it may be used any more.
func (t *txn) release() {
	m := t.scratch
	if m == nil {
		return
	}
	t.scratch = nil
	m.state = state{}
	m.record.Reset()
	for _, r := range []*row{&m.row, &m.now} {
		clear(r.values)
		*r = row{values: r.values[:0]}
	}
	clear(m.values)
	if m.rewind(); cap(m.bytes) > scratchMax {
		m.bytes = nil
	}
	clear(m.ops)
	m.ops = m.ops[:0]
	t.space.scratch.Put(m)
}

// room returns memory for so many bytes, with the length 0.
func (m *scratch) room(n int) []byte {
	if cap(m.bytes)-len(m.bytes) < n {
		m.bytes = make([]byte, 0, max(n, min(2*cap(m.bytes), scratchMax), 1024))
	}
	from := len(m.bytes)
	m.bytes = m.bytes[:from+n]
	return m.bytes[from : from : from+n]
}

// rewind takes back all bytes.
func (m *scratch) rewind() { m.bytes = m.bytes[:0] }

// roomForOps returns memory for so many operations, with the length 0.
func (m *scratch) roomForOps(n int) []entry.Op {
	if cap(m.ops)-len(m.ops) < n {
		m.ops = make([]entry.Op, 0, max(n, min(2*cap(m.ops), 1024)))
	}
	from := len(m.ops)
	m.ops = m.ops[:from+n]
	return m.ops[from : from : from+n]
}

// borrow is load for a state that is valid until the next one is borrowed.
func (t *txn) borrow(c *collection, key, stored []byte) (*state, error) {
	s, err := t.blank(c, key, stored)
	if err != nil {
		return nil, err
	}
	return s, s.read()
}

// blank is borrow for a state that is not read.
func (t *txn) blank(c *collection, key, stored []byte) (*state, error) {
	m := t.working()
	m.record.Reset()
	m.state = state{t: t, c: c, key: key, record: &m.record, row: &m.row, now: &m.now,
		scratch: m, zero: m.state.zero}
	err := m.row.read(c, stored, m.room(roomOf(stored)))
	if err == nil {
		m.state.table, err = t.table(c.number)
	}
	return &m.state, err
}

// room returns memory for so many bytes, with the length 0, which is valid as long as the state.
func (s *state) room(n int) []byte {
	if s.scratch == nil {
		return make([]byte, 0, n)
	}
	return s.scratch.room(n)
}

// values returns memory for the values of the fields of a record, all nil, which is valid until it
// is asked for again.
func (s *state) values(n int) [][]byte {
	if s.scratch == nil {
		return make([][]byte, n)
	}
	m := s.scratch
	m.values = slices.Grow(m.values[:0], n)[:n]
	clear(m.values)
	return m.values
}
