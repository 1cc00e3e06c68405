package check

import "github.com/stoatdb/stoat/internal/corrupt"

// span is a series of ids of buckets in a table, of each of which it has keys.
type span struct {
	table       string // its path
	first, last uint64
}

// spans is the buckets of tables, in the order in which they were met.
type spans []span

// add adds a bucket of a table, whose buckets ascend.
func (s *spans) add(table string, id uint64) {
	if n := len(*s); n > 0 {
		if last := &(*s)[n-1]; last.table == table && last.last+1 == id {
			last.last = id
			return
		}
	}
	*s = append(*s, span{table, id, id})
}

// check finds those that the catalog does not know.
func (s spans) check(c *catalog, found *Findings) {
	for _, in := range s {
		for id := in.first; id <= in.last; id++ {
			if !c.knows(id) {
				found.Add(in.table, corrupt.New(in.table, 0,
					"the table has keys of bucket %d, which was neither created nor dropped", id))
			}
			if id == in.last {
				break // it may be the last one that there can be
			}
		}
	}
}
