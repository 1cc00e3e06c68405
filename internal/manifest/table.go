package manifest

import (
	"bytes"
	"fmt"
)

// Table describes a table file. Immutable.
type Table struct {
	Number     uint64 // of the file
	Size       uint64 // of the file, in bytes
	Entries    uint64 // all of them
	Tombstones uint64 // those of Entries that say a key is gone
	RawBytes   uint64 // keys and values, before compression
	DropEpoch  uint64 // buckets dropped up to this epoch have nothing in the table
	Compressed bool   // some blocks may be compressed
	Smallest   []byte // the first key
	Largest    []byte // the last key
}

// Run is tables in the order of their keys, which do not overlap. Immutable.
type Run struct {
	Tables []*Table
}

// check returns an error if tables are out of order.
func (r Run) check() error {
	for i, t := range r.Tables {
		if bytes.Compare(t.Smallest, t.Largest) > 0 {
			return fmt.Errorf("table %06d ends before it starts", t.Number)
		}
		if i > 0 && bytes.Compare(r.Tables[i-1].Largest, t.Smallest) >= 0 {
			return fmt.Errorf("tables %06d and %06d overlap", r.Tables[i-1].Number, t.Number)
		}
	}
	return nil
}
