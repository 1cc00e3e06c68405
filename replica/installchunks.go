package replica

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// placed is a record of a checkpoint as this replica stores it.
type placed struct {
	key   []byte
	state merge.Record
	shows row // the stored record that shows the state, with its values
}

// opened is a staged chunk whose records are read on another processor. It is used for one chunk
// after the other.
type opened struct {
	leaf     chunk.Hash
	form     []byte // a copy
	unpacker chunk.Unpacker
	records  []chunk.Record
	placed   []placed  // of these, if a collection takes them
	scratch  scratch   // of what the placed records show
	done     chan bool // gets one when the other fields are set
	err      error
}

// openedAhead is how many chunks are opened while the records of the one before are stored.
const openedAhead = 2

// openedMax is the most bytes of a form that is opened while another one is, and whose memory is
// used again.
const openedMax = 1 << 20

// eachChunk calls fn with the chunks of a subtree, in order, each valid until fn returns. A
// collection is the one that takes them, if it is not nil.
func (st *start) eachChunk(t *txn, tree int, c *collection, fn func(o *opened) error) (err error) {
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
			go o.open(c)
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
func (o *opened) open(c *collection) {
	defer func() { o.done <- true }()
	p, err := o.unpacker.Unpack(o.form)
	if err != nil || chunk.Leaf(p) != o.leaf {
		o.err = errors.Join(fmt.Errorf("a staged chunk: %w", stoat.ErrCorrupt), err)
		return
	}
	if o.records, err = chunk.Parse(p); err != nil {
		o.err = invalid("a state of a checkpoint: %w", err)
	}
	if c != nil && o.err == nil {
		o.err = o.place(c)
	}
}

// place makes the records those that a collection stores.
func (o *opened) place(c *collection) error {
	for len(o.placed) < len(o.records) {
		o.placed = append(o.placed, placed{})
	}
	o.placed = o.placed[:len(o.records)]
	o.scratch.rewind()
	for i := range o.records {
		p := &o.placed[i]
		p.key = o.records[i].Key
		p.state.Reset()
		if err := p.state.ParseNormal(o.records[i].State); err != nil {
			return invalid("the state of a record of %q: %w", c.name, err)
		}
		var built []byte
		if c.tap != nil {
			s := &state{c: c, key: p.key, record: &p.state, scratch: &o.scratch}
			built = s.build()
		}
		if err := p.shows.read(c, built, o.scratch.room(roomOf(built))); err != nil {
			return err
		}
		for field := range p.shows.values {
			p.shows.value(field)
		}
	}
	return nil
}

// each calls fn with the records of a subtree, by key.
func (st *start) each(t *txn, tree int, fn func(r *chunk.Record) error) error {
	return st.eachChunk(t, tree, nil, func(o *opened) error {
		for i := range o.records {
			if err := fn(&o.records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPlaced is each for a collection that takes the records.
func (st *start) eachPlaced(t *txn, tree int, c *collection, fn func(p *placed) error) error {
	return st.eachChunk(t, tree, c, func(o *opened) error {
		for i := range o.placed {
			if err := fn(&o.placed[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
