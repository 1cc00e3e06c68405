package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// The touch index lists the entries that touch a record, whether they count or not:
//
//	u32 collection, the record's key as bytes of a tuple, u32 log, u64 seq → nothing
//
// It has the entries of others from when they are stored. Commits do not maintain it: the entries
// of a log from head.touched on are its tail, and the key "tail" u32 exists while there is one.
// Sealing a log indexes its tail, and so does a replay; readers look through the tails.

// touchKey appends the key under which the touches of a record begin.
func touchKey(dst []byte, collection uint32, key []byte) []byte {
	return tuple.AppendBytes(keyed(dst, "", collection), key)
}

// parseTouch splits a key of the index behind its collection.
func parseTouch(p []byte) (key []byte, at spot, err error) {
	r := tuple.NewReader(p)
	if key, err = r.Bytes(); err == nil && r.Len() == 12 {
		p = p[len(p)-12:]
		return key, spot{binary.BigEndian.Uint32(p), binary.BigEndian.Uint64(p[4:])}, nil
	}
	return nil, spot{}, fmt.Errorf("the touch index has the key %x: %w", p, stoat.ErrCorrupt)
}

// indexEntry adds the next entry of a log to the index. The caller stores the head.
func (t *txn) indexEntry(h *head, parts []entry.Part, changes []*entry.Changes) error {
	err := t.indexParts(h.number, h.touched, parts, changes)
	h.touched++
	return err
}

// indexParts adds the records to the index that the parts of an entry touch.
func (t *txn) indexParts(
	log uint32, seq uint64, parts []entry.Part, changes []*entry.Changes,
) error {
	touches, err := t.touches()
	if err != nil {
		return err
	}
	for i, c := range changes {
		if len(c.Records) == 0 {
			continue
		}
		number, err := t.collectionNumber(parts[i].Group)
		if err != nil {
			return err
		}
		for j := range c.Records {
			t.key = touchKey(t.key[:0], number, c.Records[j].Key)
			t.key = entryKey(t.key, "", log, seq)
			if err := touches.Put(t.key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteTouch removes a key from the index.
func (t *txn) deleteTouch(key []byte) error {
	touches, err := t.touches()
	if err != nil {
		return err
	}
	return touches.Delete(key)
}

// unindex removes an entry from the index.
func (t *txn) unindex(log uint32, seq uint64, parts []entry.Part, changes []*entry.Changes) error {
	for i, c := range changes {
		number, err := t.collectionNumber(parts[i].Group)
		if err != nil {
			return err
		}
		for j := range c.Records {
			key := entryKey(touchKey(nil, number, c.Records[j].Key), "", log, seq)
			if err := t.deleteTouch(key); err != nil {
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
	e, err := t.entry(log, seq)
	if err != nil {
		return nil, nil, err
	}
	var changes []*entry.Changes
	if e.Kind == entry.KindData {
		changes, err = parseParts(e)
	}
	if err != nil {
		err = fmt.Errorf("entry %d of log %d: %w: %w", seq, log, err, stoat.ErrCorrupt)
	}
	return e, changes, err
}

// touching returns the entries that touch a record, by log and seq. It reads the tails.
func (t *txn) touching(c *collection, key []byte) ([]spot, error) {
	touches, err := t.indexed(c.number, key)
	if err == nil {
		err = t.eachInTails(c.name, func(touched []byte, at spot) {
			if bytes.Equal(touched, key) {
				touches = append(touches, at)
			}
		})
	}
	slices.SortFunc(touches, spot.compare)
	return touches, err
}

// indexed returns the entries that touch a record by the index.
func (t *txn) indexed(collection uint32, key []byte) (all []spot, err error) {
	touches, err := t.touches()
	if err != nil {
		return nil, err
	}
	prefix := touchKey(nil, collection, key)
	for k := range touches.Keys(stoat.Prefix(prefix)) {
		_, at, err := parseTouch(k[4:])
		if err != nil {
			return nil, err
		}
		all = append(all, at)
	}
	return all, t.tx.Err()
}

// eachInTails calls fn for each record of a collection that an entry in a tail touches.
func (t *txn) eachInTails(collection string, fn func(key []byte, at spot)) error {
	for k := range t.meta.Keys(stoat.Prefix([]byte(prefixTail))) {
		h, err := t.head(binary.BigEndian.Uint32(k[len(prefixTail):]))
		if err != nil {
			return err
		}
		for seq := h.touched; seq < h.next; seq++ {
			e, changes, err := t.changesOf(h.number, seq)
			if err != nil {
				return err
			}
			for i, c := range changes {
				for j := 0; e.Parts[i].Group == collection && j < len(c.Records); j++ {
					fn(c.Records[j].Key, spot{h.number, seq})
				}
			}
		}
	}
	return t.tx.Err()
}

// touched is a record and an entry that touches it.
type touched struct {
	key []byte
	at  spot
}

// eachTouched calls fn for each record of a collection that was ever touched, by key, with the
// entries that touch it. They are valid until fn returns. It keeps the tails in memory.
func (t *txn) eachTouched(c *collection, fn func(key []byte, touches []spot) error) error {
	var tail []touched
	index, err := t.touches()
	if err != nil {
		return err
	}
	err = t.eachInTails(c.name, func(key []byte, at spot) { tail = append(tail, touched{key, at}) })
	if err != nil {
		return err
	}
	slices.SortStableFunc(tail, func(a, b touched) int { return bytes.Compare(a.key, b.key) })
	var key []byte
	var touches []spot
	next := func(x touched) (err error) {
		if !bytes.Equal(x.key, key) {
			if len(touches) > 0 {
				err = fn(key, touches)
			}
			key, touches = x.key, touches[:0]
		}
		touches = append(touches, x.at)
		return err
	}
	for k := range index.Keys(stoat.Prefix(keyed(nil, "", c.number))) {
		var x touched
		x.key, x.at, err = parseTouch(k[4:])
		for err == nil && len(tail) > 0 && bytes.Compare(tail[0].key, x.key) < 0 {
			err = next(tail[0])
			tail = tail[1:]
		}
		if err == nil {
			err = next(x)
		}
		if err != nil {
			return err
		}
	}
	for _, x := range tail {
		if err := next(x); err != nil {
			return err
		}
	}
	if err := t.tx.Err(); err != nil || len(touches) == 0 {
		return err
	}
	return fn(key, touches)
}
