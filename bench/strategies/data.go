package strategies

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Data is a set of records to measure the strategies with. It is used by one goroutine at a time.
type Data struct {
	schema *Schema
	fill   func(r Record, id int) // makes r the record of that number; there is no end to them
	sum    int                    // the field that is added up
	update int                    // the field that is updated
}

// Fields returns the names of all fields, of the one that is added up, and of the one updated.
func (d *Data) Fields() (names []string, sum, update string) {
	return slices.Clone(d.schema.names), d.schema.names[d.sum], d.schema.names[d.update]
}

// block is a stretch of records, as they are to be and as they were read.
type block struct {
	data      *Data
	ids       []int
	want, got []Record
}

// blockRecords is how many records are made, or compared, at a time.
const blockRecords = 500

// newBlock returns a block with room for n records.
func newBlock(d *Data, n int) *block {
	return &block{data: d, ids: make([]int, 0, n), want: d.schema.newRecords(n)}
}

// What is made ahead of a transaction at most.
const (
	aheadRecords = 250_000
	aheadBytes   = 256_000_000
)

// ahead returns how many of n records to make ahead, so that they take about so many bytes at most,
// judged by the first ones.
func (d *Data) ahead(n, bytes int) int {
	const few = 20
	const overhead = 32 // of a field in memory, about
	record, size := d.schema.newRecord(), 0
	for id := range few {
		d.fill(record, id)
		for _, f := range record.fields {
			size += overhead + textSize(f)
		}
	}
	return min(n, aheadRecords, max(1, few*bytes/size))
}

// consecutive makes the block that of the records first, first + 1 and so on, up to n, and returns
// those to be written.
func (b *block) consecutive(first, n int) []Record {
	b.ids = b.ids[:0]
	for id := first; id < min(n, first+len(b.want)); id++ {
		b.ids = append(b.ids, id)
	}
	return b.make()
}

// choose makes the block one of random records of n, at most left of them.
func (b *block) choose(random *rand.Rand, n, left int) {
	b.ids = b.ids[:0]
	for range min(left, len(b.want)) {
		b.ids = append(b.ids, random.IntN(n))
	}
	b.make()
}

// make makes the records of the block's numbers.
func (b *block) make() []Record {
	for i, id := range b.ids {
		b.data.fill(b.want[i], id)
	}
	return b.want[:len(b.ids)]
}

// room returns as many records to read into as are in the block.
func (b *block) room() []Record {
	if b.got == nil {
		b.got = b.data.schema.newRecords(len(b.want))
	}
	room := b.got[:len(b.ids)]
	for _, r := range room {
		r.clear()
	}
	return room
}

// neighbours returns, for each record of n in the block, the one behind it, and changes the block
// to what it is with the updated field of that one.
func (b *block) neighbours(n int) []Record {
	field := b.data.update
	next := b.room()
	for i, id := range b.ids {
		b.data.fill(next[i], (id+1)%n)
		copyField(b.want[i].fields[field], next[i].fields[field])
	}
	return next
}

// check returns an error if what was read is not what was to be read.
func (b *block) check() error {
	for i, id := range b.ids {
		if f := b.want[i].difference(b.got[i]); f >= 0 {
			name := b.data.schema.names[f]
			return fmt.Errorf("record %d has another %s than was written", id, name)
		}
	}
	return nil
}

// sum returns the sum of the field that is added up, and of so far, in the order of the records.
func (b *block) sum(soFar float64) float64 {
	for i := range b.ids {
		soFar += number(b.want[i].fields[b.data.sum])
	}
	return soFar
}
