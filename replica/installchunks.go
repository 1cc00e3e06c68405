package replica

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// opened is a staged chunk whose records are read on another processor. It is used for one chunk
// after the other, in the same memory.
type opened struct {
	leaf     chunk.Hash
	form     []byte // a copy
	unpacker chunk.Unpacker
	done     chan struct{} // closed when the records are read, or err is set; nil: it has no chunk
	records  []chunk.Record
	err      error
}

// openedMax is the most bytes of a form behind which another chunk is opened meanwhile, and whose
// memory is used again.
const openedMax = 1 << 20

// each calls fn with the records of a subtree, by key. A record is valid until fn returns. While
// those of a chunk are taken, the next one is opened.
func (st *start) each(t *txn, tree int, fn func(r *chunk.Record) error) error {
	leaves := st.trees[tree]
	leaves = leaves[min(st.act.Unchunked(tree), len(leaves)):]
	now, next := &opened{}, &opened{}
	defer func() { next.wait() }()
	var last []byte
	for n, leaf := range leaves {
		if now.done == nil {
			if err := now.open(t, leaf); err != nil {
				return err
			}
		}
		now.wait()
		if n+1 < len(leaves) && len(now.form) <= openedMax {
			if err := next.open(t, leaves[n+1]); err != nil {
				return err
			}
		}
		if err := now.take(last, fn); err != nil {
			return err
		}
		last = append(last[:0], now.records[len(now.records)-1].Key...)
		if now.done = nil; cap(now.form) > openedMax {
			*now = opened{}
		}
		now, next = next, now
	}
	return nil
}

// open begins to read the records of a chunk.
func (o *opened) open(t *txn, leaf chunk.Hash) (err error) {
	if o.form, err = t.staging(leaf, o.form[:0]); err != nil {
		return err
	}
	o.leaf, o.done = leaf, make(chan struct{})
	go o.read()
	return nil
}

// wait returns when the chunk is read, if there is one.
func (o *opened) wait() {
	if o.done != nil {
		<-o.done
	}
}

// read reads the records.
func (o *opened) read() {
	defer close(o.done)
	p, err := o.unpacker.Unpack(o.form)
	if err != nil || chunk.Leaf(p) != o.leaf {
		o.err = errors.Join(fmt.Errorf("a staged chunk: %w", stoat.ErrCorrupt), err)
		return
	}
	if o.records, err = chunk.Parse(p); err != nil {
		o.err = invalid("a state of a checkpoint: %w", err)
	}
}

// take calls fn with the records, which must follow the last one of the chunk before.
func (o *opened) take(last []byte, fn func(r *chunk.Record) error) error {
	if o.err == nil && bytes.Compare(o.records[0].Key, last) <= 0 {
		o.err = invalid("a state of a checkpoint: chunks are not in order")
	}
	if o.err != nil {
		return o.err
	}
	for i := range o.records {
		if err := fn(&o.records[i]); err != nil {
			return err
		}
	}
	return nil
}
