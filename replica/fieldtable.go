package replica

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// fieldTable gives the fields of a collection numbers, which are shorter than their names. It is
// immutable unless it has grown.
type fieldTable struct {
	raw    []byte // as stored
	names  []string
	number map[string]int
	grown  bool // in this transaction, which alone has this copy
}

// table returns the fields of a collection.
func (t *txn) table(collection uint32) (*fieldTable, error) {
	in := t.inside(collection)
	if in.table != nil {
		return in.table, nil
	}
	t.key = keyed(t.key[:0], prefixFields, collection)
	p, err := t.meta.Get(t.key)
	if err != nil && !missing(err) {
		return nil, err
	}
	s := t.space
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.tables[collection]
	if f == nil || !bytes.Equal(f.raw, p) {
		f = &fieldTable{raw: bytes.Clone(p), number: map[string]int{}}
		r := wire.NewReader(p)
		for r.Len() > 0 {
			f.add(string(r.Bytes(1, entry.FieldMax)))
		}
		if err := r.End(); err != nil {
			return nil, fmt.Errorf("the fields of collection %d: %w", collection, err)
		}
		s.tables[collection] = f
	}
	in.table = f
	return f, nil
}

func (f *fieldTable) add(name string) {
	f.number[name] = len(f.names)
	f.names = append(f.names, name)
}
