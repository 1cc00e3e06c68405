package strategies

import "fmt"

// Values returns the values of the first n records, as stored by the named strategy, which must
// have one pair per record.
func (d *Data) Values(strategy string, n int) ([][]byte, error) {
	s, err := findStrategy(strategy)
	if err != nil {
		return nil, err
	}
	pair, ok := s.make(d.schema).(*onePair)
	if !ok {
		return nil, fmt.Errorf("strategy %q has several pairs per record", strategy)
	}
	values, r := make([][]byte, n), d.schema.newRecord()
	for i := range values {
		d.fill(r, i)
		if values[i], err = pair.codec.encode(r); err != nil {
			return nil, err
		}
	}
	return values, nil
}
