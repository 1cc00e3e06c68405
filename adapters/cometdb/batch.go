package cometdb

import "github.com/stoatdb/stoat"

// Batch collects writes in memory until it is written, in one transaction and in their order. It is
// not safe for concurrent use. Once it was written or closed, all methods but Close return
// [ErrBatchClosed].
type Batch struct {
	db     *stoat.DB
	data   []byte // the keys and values of the writes
	writes []write
	closed bool
}

// write is one write of a batch, by the lengths of its key and value.
type write struct {
	key, value int
	deletes    bool
}

// maxReserved is the most memory that a batch takes before it has any writes.
const maxReserved = 16 << 20

func newBatch(db *stoat.DB, size int) *Batch {
	return &Batch{db: db, data: make([]byte, 0, min(max(size, 0), maxReserved))}
}

// Set adds that a copy of value, which must not be nil, is stored under key.
func (b *Batch) Set(key, value []byte) error {
	if b.closed {
		return ErrBatchClosed
	}
	if err := check(key, value); err != nil {
		return err
	}
	b.data = append(append(b.data, key...), value...)
	b.writes = append(b.writes, write{key: len(key), value: len(value)})
	return nil
}

// Delete adds that the value of key is removed.
func (b *Batch) Delete(key []byte) error {
	if b.closed {
		return ErrBatchClosed
	}
	if len(key) == 0 {
		return stoat.ErrInvalidKey
	}
	b.data = append(b.data, key...)
	b.writes = append(b.writes, write{key: len(key), deletes: true})
	return nil
}

// Write makes the writes: all of them or, after an error or a crash, none. After an error, it can
// be called again.
func (b *Batch) Write() error {
	if b.closed {
		return ErrBatchClosed
	}
	err := b.db.Update(func(tx *stoat.Tx) error {
		rest := b.data
		for _, w := range b.writes {
			key, value := rest[:w.key], rest[w.key:w.key+w.value]
			rest = rest[w.key+w.value:]
			err := error(nil)
			if w.deletes {
				err = tx.Delete(key)
			} else {
				err = tx.Put(key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		b.end()
	}
	return err
}

// WriteSync is Write that is durable when it returns.
func (b *Batch) WriteSync() error {
	if err := b.Write(); err != nil {
		return err
	}
	return b.db.Sync()
}

// GetByteSize returns the size of the keys and values of the writes.
func (b *Batch) GetByteSize() (int, error) {
	if b.closed {
		return 0, ErrBatchClosed
	}
	return len(b.data), nil
}

// Close drops the writes, if they were not made. Closing again does nothing.
func (b *Batch) Close() error {
	b.end()
	return nil
}

func (b *Batch) end() { b.closed, b.data, b.writes = true, nil, nil }
