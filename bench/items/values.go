package items

import "encoding/json"

// Values returns the first n items of the suite, as they are stored. The same seed gives the same
// items.
func Values(seed uint64, n int) ([][]byte, error) {
	values := make([][]byte, n)
	for i, it := range newItems(newRandom(seed, "values"), n) {
		value, err := json.Marshal(&it)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}
