package strategies

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Data is a set of records to measure strategies with. It is used by one goroutine at a time.
type Data struct {
	schema *Schema
	fill   func(r Record, id int) // sets r to the record with the number; any number is valid
	sum    int                    // the field to add up
	update int                    // the field to update
}

// Fields returns the names of all fields, of the field to add up, and of the field to update.
func (d *Data) Fields() (names []string, sum, update string) {
	return slices.Clone(d.schema.names), d.schema.names[d.sum], d.schema.names[d.update]
}

// block is a number of records, as expected and as read.
type block struct {
	data      *Data
	ids       []int
	want, got []Record
}

// blockRecords is how many records are made or compared at a time.
const blockRecords = 500

// newBlock returns a block with room for n records.
func newBlock(d *Data, n int) *block {
	return &block{data: d, ids: make([]int, 0, n), want: d.schema.newRecords(n)}
}

// The most that is made ahead of a transaction.
const (
	aheadRecords = 250_000
	aheadBytes   = 256_000_000
)

// ahead returns how many of n records to make ahead for them to take about the given number of
// bytes at most. It estimates from the first records.
func (d *Data) ahead(n, bytes int) int {
	const few = 20
	const overhead = 32 // approximate overhead of a field in memory
	record, size := d.schema.newRecord(), 0
	for id := range few {
		d.fill(record, id)
		for _, f := range record.fields {
			size += overhead + textSize(f)
		}
	}
	return min(n, aheadRecords, max(1, few*bytes/size))
}

// consecutive fills the block with the records first, first + 1 and so on, below n, and returns
// them.
func (b *block) consecutive(first, n int) []Record {
	b.ids = b.ids[:0]
	for id := first; id < min(n, first+len(b.want)); id++ {
		b.ids = append(b.ids, id)
	}
	return b.make()
}

// choose fills the block with random records below n, at most left of them.
func (b *block) choose(random *rand.Rand, n, left int) {
	b.ids = b.ids[:0]
	for range min(left, len(b.want)) {
		b.ids = append(b.ids, random.IntN(n))
	}
	b.make()
}

// make makes the records with the block's numbers.
func (b *block) make() []Record {
	for i, id := range b.ids {
		b.data.fill(b.want[i], id)
	}
	return b.want[:len(b.ids)]
}

// room returns cleared records to read the block's records into.
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

// neighbours returns the successor of each of the block's records, modulo n, and sets the updated
// field of the block's records to that of their successors.
func (b *block) neighbours(n int) []Record {
	field := b.data.update
	next := b.room()
	for i, id := range b.ids {
		b.data.fill(next[i], (id+1)%n)
		copyField(b.want[i].fields[field], next[i].fields[field])
	}
	return next
}

// check returns an error if the records read are not the expected ones.
func (b *block) check() error {
	for i, id := range b.ids {
		if f := b.want[i].difference(b.got[i]); f >= 0 {
			name := b.data.schema.names[f]
			return fmt.Errorf("record %d: %s differs from what was written", id, name)
		}
	}
	return nil
}

// sum adds the field to add up, in the order of the records, to soFar.
func (b *block) sum(soFar float64) float64 {
	for i := range b.ids {
		soFar += number(b.want[i].fields[b.data.sum])
	}
	return soFar
}
