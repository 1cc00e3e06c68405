package replica

import "github.com/stoatdb/stoat"

// inside is a collection in a transaction.
type inside struct {
	number  uint32
	table   *fieldTable   // nil: not read
	records *stoat.Bucket // once opened; nil if the program has never opened the collection
	opened  bool
	merging *collection // in what is deferred; nil: nothing is
}

// inside returns a collection in the transaction. Most transactions have one, or few.
func (t *txn) inside(collection uint32) *inside {
	if in := t.last; in != nil && in.number == collection {
		return in
	}
	if t.last = t.collected.find(collection); t.last == nil {
		t.last = &inside{number: collection}
		t.collected.add(t.last)
	}
	return t.last
}

// collected is the collections that a transaction has met. It is not safe for concurrent use.
type collected struct {
	all   []*inside
	index map[uint32]*inside // by number; nil while there are few
}

// fewInside is how many collections are searched one by one.
const fewInside = 8

// find returns a collection, or nil.
func (c *collected) find(number uint32) *inside {
	if c.index != nil {
		return c.index[number]
	}
	for _, in := range c.all {
		if in.number == number {
			return in
		}
	}
	return nil
}

// add adds a collection.
func (c *collected) add(in *inside) {
	c.all = append(c.all, in)
	switch {
	case c.index != nil:
		c.index[in.number] = in
	case len(c.all) > fewInside:
		c.index = map[uint32]*inside{}
		for _, in := range c.all {
			c.index[in.number] = in
		}
	}
}
