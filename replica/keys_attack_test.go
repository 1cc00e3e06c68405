package replica

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// Keys of records that are no tuples make their parts void, so what lists entries and conflicts
// goes on behind them.
func TestAttack22_keysThatAreNoTuples(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "a"})
	root := p.root()
	bad := [][]byte{{0xFF}, {0x15}, {0x28, 'a'}, {0x14, 0x40, 0}, tuple.AppendInt([]byte{0}, 1)}
	for i := range 2 * len(bad) { // two concurrent entries for each
		c := entry.Changes{Fields: []string{"title"}, Records: []entry.Record{{Key: bad[i/2],
			Ops: []entry.Op{{Kind: entry.OpSet, Value: tuple.AppendInt(nil, int64(i))}}}}}
		e := data(1, "")
		e.Parts[0].Data = c.Append(nil)
		f := p.otherForger(byte(i))
		f.add(e)
		p.take(f.run)
	}
	if p.root() != root {
		t.Error("a part with such a key counts")
	}
	for _, h := range p.heads() {
		p.entries(h.Log)
	}
	void := 0
	must(t, p.db.View(func(tx *stoat.Tx) error {
		for _, err := range p.space.Conflicts(tx) {
			if err != nil {
				return err
			}
		}
		for _, err := range p.space.Void(tx) {
			if err != nil {
				return err
			}
			void++
		}
		return nil
	}))
	if void != 2*len(bad) {
		t.Errorf("%d void entries of %d", void, 2*len(bad))
	}
}
