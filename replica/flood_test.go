package replica

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// edit returns an entry that edits the task with the key 1, some milliseconds after noon.
func edit(ms int, fields []string, ops ...entry.Op) *entry.Entry {
	changes := entry.Changes{Fields: fields,
		Records: []entry.Record{{Key: tuple.AppendInt(nil, 1), Ops: ops}}}
	return &entry.Entry{Time: hlc.At(noon.Add(time.Duration(ms) * time.Millisecond)),
		Kind: entry.KindData, Parts: []entry.Part{{Group: "tasks", Data: changes.Append(nil)}}}
}

// An entry as large as a space allows is merged in time that grows with its size, not with its
// square, which would be hours.
func TestApply_costFollowsTheSizeOfEntries(t *testing.T) {
	const n = 80_000
	t.Run("fields", func(t *testing.T) {
		var high, low []string
		var ops []entry.Op
		for i := range n {
			name := binary.BigEndian.AppendUint32(nil, uint32(i))
			low, high = append(low, "x"+string(name)), append(high, "y"+string(name))
			ops = append(ops, entry.Op{Field: i, Kind: entry.OpSum, Delta: 1})
		}
		p := newPeer(t, nil)
		f := newForger(p)
		f.add(edit(1, high, ops...))
		f.add(edit(2, low, ops...))
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Error(err)
		}
	})
	t.Run("elements", func(t *testing.T) {
		var high, low []entry.Item
		for i := range 2 * n {
			low = append(low, entry.Item{Key: tuple.AppendInt(nil, int64(i))})
			high = append(high, entry.Item{Key: tuple.AppendInt(nil, int64(i+2*n))})
		}
		p := newPeer(t, nil)
		f := newForger(p)
		for i, op := range []entry.Op{{Added: high}, {Added: low}, {Removed: low}} {
			op.Kind = entry.OpElements
			f.add(edit(i+1, []string{"x"}, op))
		}
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Error(err)
		}
	})
}
