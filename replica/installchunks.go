package replica

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// opened is a staged chunk whose records are read on another processor. It is used for one chunk
// after the other.
type opened struct {
	leaf     chunk.Hash
	form     []byte // a copy
	unpacker chunk.Unpacker
	records  []chunk.Record
	done     chan bool // gets one when the other fields are set
	err      error
}

// openedAhead is how many chunks are opened while the records of the one before are stored.
const openedAhead = 2

// openedMax is the most bytes of a form that is opened while another one is, and whose memory is
// used again.
const openedMax = 1 << 20

// eachChunk calls fn with the chunks of a subtree, in order, each valid until fn returns.
func (st *start) eachChunk(t *txn, tree int, fn func(o *opened) error) (err error) {
	leaves := st.trees[tree]
	leaves = leaves[min(st.act.Unchunked(tree), len(leaves)):]
	var free, ahead []*opened
	defer func() {
		for _, o := range ahead {
			<-o.done
		}
	}()
	var last []byte
	for n := 0; n < len(leaves) || len(ahead) > 0; {
		for ; n < len(leaves) && opensAnother(ahead); n++ {
			o := &opened{done: make(chan bool, 1)}
			if len(free) > 0 {
				o, free = free[0], free[1:]
			}
			if o.form, err = t.staging(leaves[n], o.form[:0]); err != nil {
				return err
			}
			o.leaf, ahead = leaves[n], append(ahead, o)
			go o.open()
		}
		o := ahead[0]
		<-o.done
		if ahead = ahead[1:]; o.err == nil && bytes.Compare(o.records[0].Key, last) <= 0 {
			o.err = invalid("a state of a checkpoint: chunks are not in order")
		}
		if o.err != nil {
			return o.err
		}
		if err := fn(o); err != nil {
			return err
		}
		last = append(last[:0], o.records[len(o.records)-1].Key...)
		if cap(o.form) <= openedMax {
			free = append(free, o)
		}
	}
	return nil
}

// opensAnother reports whether one more chunk may be opened now.
func opensAnother(ahead []*opened) bool {
	n := len(ahead)
	return n == 0 || n < openedAhead && len(ahead[n-1].form) <= openedMax
}

// open reads the records of the chunk.
func (o *opened) open() {
	defer func() { o.done <- true }()
	p, err := o.unpacker.Unpack(o.form)
	if err != nil || chunk.Leaf(p) != o.leaf {
		o.err = errors.Join(fmt.Errorf("a staged chunk: %w", stoat.ErrCorrupt), err)
		return
	}
	if o.records, err = chunk.Parse(p); err != nil {
		o.err = invalid("a state of a checkpoint: %w", err)
	}
}

// each calls fn with the records of a subtree, by key.
func (st *start) each(t *txn, tree int, fn func(r *chunk.Record) error) error {
	return st.eachChunk(t, tree, func(o *opened) error {
		for i := range o.records {
			if err := fn(&o.records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
