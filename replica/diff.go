package replica

import (
	"bytes"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/value"
)

// diff returns the operations that lead from what the state shows to a stored record. Op.Field is
// the number of the column.
func (s *state) diff(to *row) []entry.Op {
	ops := s.t.working().roomForOps(len(s.c.columns))
	alive := len(s.record.Alive) > 0
	for i := range s.c.columns {
		if alive && s.row.schema == to.schema && sameRaw(s.row, to, to.schema.columns[i]) {
			continue
		}
		c := &s.c.columns[i]
		wanted := to.value(to.schema.columns[i])
		if op, ok := s.op(c, wanted, alive); ok {
			op.Field = i
			ops = append(ops, op)
		}
	}
	return ops
}

// sameRaw reports whether two records of a schema have the same bytes for a field.
func sameRaw(a, b *row, field int) bool {
	p, err := a.schema.values.Raw(a.stored, field)
	q, other := b.schema.values.Raw(b.stored, field)
	return err == nil && other == nil && bytes.Equal(p, q)
}

// op returns the operation that changes a column from what it shows to what is wanted; ok is false
// if there is none. A record that is stored again after its deletion is written in full, since a
// checkpoint may forget what it had.
func (s *state) op(c *column, wanted []byte, alive bool) (op entry.Op, ok bool) {
	op.Kind = c.kind
	if c.kind == entry.OpElements || c.kind == entry.OpEntries {
		s.setOp(c, wanted, alive, &op)
		return op, len(op.Removed)+len(op.Added) > 0
	}
	shown := visible(s.record, c)
	unwritten := shown == nil
	if unwritten {
		s.zero = value.AppendZero(s.zero[:0], c.typ)
		shown = s.zero
	}
	switch c.kind {
	case entry.OpSum:
		op.Delta = value.Int(wanted) - value.Int(c.fit(shown))
		return op, op.Delta != 0
	case entry.OpMax, entry.OpMin:
		// A new record takes part with its value, even with zero.
		op.Value = wanted
		order := bytes.Compare(wanted, shown)
		better := order > 0 == (c.kind == entry.OpMax) && order != 0
		return op, better || !alive || unwritten && order != 0
	}
	op.Value = wanted
	return op, !bytes.Equal(wanted, shown) || !alive && !unwritten
}

// fit returns the value as a record of the column's type shows it.
func (c *column) fit(v []byte) []byte {
	size := uint(8 << (c.typ.Kind - layout.Int8))
	least := int64(math.MinInt64) >> (64 - size)
	return value.AppendInt(nil, min(max(value.Int(v), least), -(least+1)))
}

// setOp sets the operation that turns the elements or the entries of a field into the wanted
// ones.
func (s *state) setOp(c *column, wanted []byte, alive bool, op *entry.Op) {
	items := value.Elements(wanted)
	keys := make([]entry.Item, len(items))
	for i, item := range items {
		keys[i] = entry.Item{Key: item}
		if c.kind == entry.OpEntries {
			key := value.Key(item)
			keys[i] = entry.Item{Key: key, Value: item[len(key):]}
		}
	}
	byKey := func(a, b entry.Item) int { return bytes.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(keys, byKey) {
		slices.SortFunc(keys, byKey)
	}
	keys = slices.CompactFunc(keys, func(a, b entry.Item) bool { return byKey(a, b) == 0 })
	var old []merge.Item
	if f := s.record.Field(c.name, c.kind); f != nil {
		old = f.Items
	}
	for len(old)+len(keys) > 0 {
		order := -1
		if len(old) == 0 {
			order = 1
		} else if len(keys) > 0 {
			order = bytes.Compare(old[0].Key, keys[0].Key)
		}
		if order < 0 {
			op.Removed = append(op.Removed, entry.Item{Key: old[0].Key})
		} else if order > 0 || !alive ||
			!bytes.Equal(merge.Winner(old[0].Versions).Value, keys[0].Value) {
			op.Added = append(op.Added, keys[0])
		}
		if order <= 0 {
			old = old[1:]
		}
		if order >= 0 {
			keys = keys[1:]
		}
	}
}
