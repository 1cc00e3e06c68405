package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The touch index lists the entries that touch a record, whether they count or not:
//
//	u32 collection, the record's key as a text, u32 log, u64 seq → nothing
//
// It has the entries of others from when they are stored. Commits do not maintain it: the entries
// of a log from head.touched on are its tail, and the key "tail" u32 exists while there is one.
// Sealing a log indexes its tail, and so does a replay; readers look through the tails.

// touchKey appends the key under which the touches of a record begin.
func touchKey(dst []byte, collection uint32, key []byte) []byte {
	return wire.AppendBytes(keyed(dst, "", collection), key)
}

// indexEntry adds the next entry of a log to the index. The caller stores the head.
func (t *txn) indexEntry(h *head, parts []entry.Part, changes []*entry.Changes) error {
	for i, c := range changes {
		number, err := t.collectionNumber(parts[i].Group)
		if err != nil {
			return err
		}
		for j := range c.Records {
			t.key = touchKey(t.key[:0], number, c.Records[j].Key)
			t.key = entryKey(t.key, "", h.number, h.touched)
			if err := t.touches.Put(t.key, nil); err != nil {
				return err
			}
		}
	}
	h.touched++
	return nil
}

// unindex removes an entry from the index.
func (t *txn) unindex(log uint32, seq uint64) error {
	e, changes, err := t.changesOf(log, seq)
	if err != nil {
		return err
	}
	for i, c := range changes {
		number, err := t.collectionNumber(e.Parts[i].Group)
		if err != nil {
			return err
		}
		for j := range c.Records {
			key := entryKey(touchKey(nil, number, c.Records[j].Key), "", log, seq)
			if err := t.touches.Delete(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexTail adds the tail of a log to the index. The caller stores the head.
func (t *txn) indexTail(h *head) error {
	if h.touched == h.next {
		return nil
	}
	for h.touched < h.next {
		e, changes, err := t.changesOf(h.number, h.touched)
		if err == nil {
			err = t.indexEntry(h, e.Parts, changes)
		}
		if err != nil {
			return err
		}
	}
	return t.meta.Delete(keyed(nil, prefixTail, h.number))
}

// indexTails adds the tails of all logs to the index.
func (t *txn) indexTails() error {
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixTail))) {
		h, err := t.head(binary.BigEndian.Uint32(key[len(prefixTail):]))
		if err == nil {
			err = t.indexTail(h)
		}
		if err == nil {
			err = t.putHead(h)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// changesOf returns a stored entry with its changes, by part. It has none if it is not a data
// entry.
func (t *txn) changesOf(log uint32, seq uint64) (*entry.Entry, []*entry.Changes, error) {
	_, stored, err := t.entry(log, seq)
	if err != nil {
		return nil, nil, err
	}
	e, err := entry.Parse(stored)
	var changes []*entry.Changes
	if err == nil && e.Kind == entry.KindData {
		changes, err = parseParts(e)
	}
	if err != nil {
		err = fmt.Errorf("entry %d of log %d: %w: %w", seq, log, err, stoat.ErrCorrupt)
	}
	return e, changes, err
}

// touching appends the entries that touch a record, by log and seq.
func (t *txn) touching(dst []spot, collection uint32, key []byte) ([]spot, error) {
	prefix := touchKey(nil, collection, key)
	for k := range t.touches.Keys(stoat.Prefix(prefix)) {
		if k = k[len(prefix):]; len(k) != 12 {
			return nil, fmt.Errorf("the touch index has the key %x: %w", k, stoat.ErrCorrupt)
		}
		dst = append(dst, spot{binary.BigEndian.Uint32(k), binary.BigEndian.Uint64(k[4:])})
	}
	return dst, t.tx.Err()
}

// touchingTail appends the entries in the tails of logs that touch a record of a collection. It
// reads the tails.
func (t *txn) touchingTail(dst []spot, collection string, key []byte) ([]spot, error) {
	for k := range t.meta.Keys(stoat.Prefix([]byte(prefixTail))) {
		h, err := t.head(binary.BigEndian.Uint32(k[len(prefixTail):]))
		if err != nil {
			return nil, err
		}
		for seq := h.touched; seq < h.next; seq++ {
			e, changes, err := t.changesOf(h.number, seq)
			if err != nil {
				return nil, err
			}
			for i, c := range changes {
				if e.Parts[i].Group == collection && c.Record(key) != nil {
					dst = append(dst, spot{h.number, seq})
				}
			}
		}
	}
	return dst, t.tx.Err()
}
