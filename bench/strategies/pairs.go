package strategies

// pairs stores and reads the fields of a record as one pair each. An absent field has no pair.
type pairs struct {
	schema  *Schema
	scratch Record
	largest int // longest record so far, all fields together
}

// put stores the fields, each under the prefix and its name. It may overwrite what follows the
// prefix.
func (p *pairs) put(b Bucket, prefix []byte, r Record) error {
	values := make([]byte, 0, p.largest)
	for i, f := range r.fields {
		if isAbsent(f) {
			continue
		}
		start := len(values)
		values = appendField(values, f)
		end := len(values)
		err := b.Put(append(prefix, p.schema.names[i]...), values[start:end:end])
		if err != nil {
			return err
		}
	}
	p.largest = max(p.largest, len(values))
	return nil
}

// set stores or removes one field.
func (p *pairs) set(b Bucket, prefix []byte, field int, from Record) error {
	key := append(prefix, p.schema.names[field]...)
	f := from.fields[field]
	if isAbsent(f) {
		return b.Delete(key)
	}
	return b.Put(key, appendField(nil, f))
}

// number returns a field's contribution to a sum.
func (p *pairs) number(b Bucket, prefix []byte, field int) (float64, error) {
	value, err := b.Get(append(prefix, p.schema.names[field]...))
	width := p.schema.widths[field]
	switch {
	case err != nil:
		return 0, err
	case width == 0:
		return float64(len(value)), nil
	case len(value) != width:
		return 0, errEncoding
	}
	f := p.scratch.fields[field]
	setField(f, value)
	return number(f), nil
}

// collector assembles a record from its pairs, which come in the order of the field names.
type collector struct {
	schema *Schema
	into   Record
	next   int // position in that order
}

func (c *collector) add(name, value []byte) error {
	for c.next < len(c.schema.sorted) {
		i := c.schema.sorted[c.next]
		c.next++
		if c.schema.names[i] == string(name) {
			if width := c.schema.widths[i]; width != 0 && width != len(value) {
				return errEncoding
			}
			setField(c.into.fields[i], value)
			return nil
		}
		if !isAbsent(c.into.fields[i]) {
			return errEncoding
		}
	}
	return errEncoding
}

// finish returns an error if a required field is missing.
func (c *collector) finish() error {
	for _, i := range c.schema.sorted[c.next:] {
		if !isAbsent(c.into.fields[i]) {
			return errEncoding
		}
	}
	return nil
}
