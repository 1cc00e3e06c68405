package block

// Column is byte strings that lie in one buffer, one after the other. It is immutable and safe for
// concurrent use. The zero Column has none.
type Column struct {
	data []byte
	ends []uint32 // where each starts and the last ends; nil if all have the same size
	size int
}

// At returns string i, which aliases the buffer and must not be modified. It is never nil.
func (c *Column) At(i int) []byte {
	if c.ends != nil {
		return c.data[c.ends[i]:c.ends[i+1]:c.ends[i+1]]
	}
	return c.data[i*c.size : (i+1)*c.size : (i+1)*c.size]
}

// IndexBytes returns the memory that the Column takes besides its buffer.
func (c *Column) IndexBytes() int { return 4 * cap(c.ends) }

// DataBytes returns the size of the buffer.
func (c *Column) DataBytes() int { return len(c.data) }
